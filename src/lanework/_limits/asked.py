"""What is asked of permits, and in which order a holder may ask."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lanework.errors import InvalidLimit, PermitOrder

Scope = Literal["cluster", "host", "process"]
SCOPES = ("cluster", "host", "process")


@dataclass(frozen=True, slots=True)
class Asked:
    """One of each of these names together, all or none."""

    names: tuple[str, ...]
    capacity: int | None
    scope: Scope
    ttl: float | None

    @classmethod
    def checked(cls, names: Sequence[str], capacity: int | None, scope: str, ttl: float | None) -> Asked:
        for name in names:
            if not isinstance(name, str) or not 1 <= len(name) <= 150 or "@" in name or "\0" in name:
                raise InvalidLimit(f"permit: expected a name of 1 to 150 characters without '@', got {name!r}")
        if not names:
            raise InvalidLimit("permit: expected at least one name")
        if capacity is not None and (isinstance(capacity, bool) or not isinstance(capacity, int) or not 0 <= capacity <= 10_000):
            raise InvalidLimit(f"capacity: expected 0 to 10000, got {capacity!r}")
        if scope not in SCOPES:
            raise InvalidLimit(f"scope: expected cluster, host or process, got {scope!r}")
        if ttl is not None and not 0 < ttl <= 86_400:
            raise InvalidLimit(f"ttl: expected more than 0 seconds and at most a day, got {ttl!r}")
        if ttl is not None and scope == "process":
            raise InvalidLimit("ttl: a hold of this process alone has no expiry")
        host = f"@{socket.gethostname()}" if scope == "host" else ""
        return cls(tuple(sorted({f"{name}{host}" for name in names})), capacity, scope, ttl)  # type: ignore[arg-type]

    @property
    def shown(self) -> tuple[str, ...]:
        """The names as they are ordered and compared."""
        return tuple(f"{name}@process" for name in self.names) if self.scope == "process" else self.names


def check_order(held: Sequence[str], asked: Sequence[str], wait: float) -> None:
    """Who holds permits waits only for names above all of them. Who does not wait cannot wait for ever."""
    if held and wait > 0 and min(asked) <= max(held):
        raise PermitOrder(
            f"permit {min(asked)!r} is asked for by a holder of {max(held)!r}: names are taken in rising order, so that two "
            "holders never wait for each other; take them together, or in that order, or with wait=0"
        )
