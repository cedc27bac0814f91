"""Values of the pool: a hold, its slots, and who waits for one."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(slots=True, eq=False)
class Slot:
    """One unit of one permit that this process has. A hold that is passed on within the process takes the next fence."""

    name: str
    fences: deque[int]
    taken_at: float


@dataclass(slots=True, eq=False)
class Grant:
    """What one holder has: a slot of each of its names."""

    names: tuple[str, ...]
    slots: tuple[Slot, ...]
    fence: int
    job: int | None
    generation: int
    token: str = field(default_factory=lambda: str(uuid4()))
    lost: bool = False


@dataclass(slots=True, eq=False)
class Waiter:
    """`once`: asks the database once and does not wait."""

    names: tuple[str, ...]
    job: int | None
    once: bool
    future: Future[Grant] = field(default_factory=Future)
    grant: Grant | None = None

    @property
    def gone(self) -> bool:
        return self.future.done()
