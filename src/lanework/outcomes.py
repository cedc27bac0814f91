"""What a handler says about its own run, as values. Returning anything else means `Done(that)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Done:
    """Completed, with a result that is JSON."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Snooze:
    """Not now: run again after `delay`. Uses no try."""

    delay: timedelta | float


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop for good, without calling it a failure."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail now: a dead letter, however many tries are left."""

    error: str | BaseException
    error_class: str = "permanent"


@dataclass(frozen=True, slots=True)
class ItemError:
    """One item of a partial result that failed."""

    item: str
    error: str
    error_class: str = "unknown"
    error_code: str = ""
    traceback: str = ""


@dataclass(frozen=True, slots=True)
class Partial:
    """Completed, but for the items that failed. `ctx.map` makes one by itself when an item has failed."""

    result: Any = None
    errors: Sequence[ItemError] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Park this job, without a slot, until its children have ended; then its handler is called again and finds them in
    `ctx.children`.

    on_failure   `fail`: the job fails if more than `tolerate` children failed or were cancelled; `continue`: it goes on
    """

    children: Sequence[Any] = ()
    on_failure: Literal["fail", "continue"] = "fail"
    tolerate: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", tuple(getattr(child, "id", child) for child in self.children))


@dataclass(frozen=True, slots=True)
class Finished:
    """What `tx.finish` returns: the job is completed already, in the transaction's own commit."""

    result: Any = None


Outcome = Done | Partial | Snooze | Wait | Cancel | Fail | Finished
