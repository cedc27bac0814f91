"""What a handler says about its own run, as values. Returning anything else means `Done(that)`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any


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


Outcome = Done | Snooze | Cancel | Fail
