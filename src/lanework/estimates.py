"""`Estimate`, what a job would cost, as its estimator says; `Actual`, what it has cost.

@digest.estimator
def cost(ctx: Context, url: str, words: int = 200) -> Estimate:
    page = ctx.step("fetch", fetch, url)            # kept: the run finds it stored
    return Estimate(low=0.1, high=0.4, tokens=9_000)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lanework._plain import show
from lanework.errors import InvalidResult


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would cost. What is not known is None; `high` is `low` unless given."""

    #: The least that it will cost, in `currency`.
    low: float | None = None
    #: The most that it may cost: this is what a rule like `Above(5.0)` looks at.
    high: float | None = None
    tokens: int | None = None
    items: int | None = None
    #: How long the run would take.
    seconds: float | None = None
    #: What whoever approves should know.
    warnings: Sequence[str] = ()
    currency: str = "USD"
    #: Why this one job needs an approval, whatever its rule and its cost; None: its rule decides.
    ask: str | None = None
    #: Nobody knows: the estimator failed, and the warning says why. Not for estimators to set.
    failed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", tuple(self.warnings))
        if self.high is None:
            object.__setattr__(self, "high", self.low)
        for name in ("low", "high", "tokens", "items", "seconds"):
            _check(name, getattr(self, name))
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InvalidResult(f"estimate: expected low to be at most high, got {self.low!r} and {self.high!r}")

    def stored(self) -> dict[str, Any]:
        """As its job's result."""
        return {
            "low": self.low, "high": self.high, "tokens": self.tokens, "items": self.items, "seconds": self.seconds,
            "warnings": list(self.warnings), "currency": self.currency, **({"ask": self.ask} if self.ask else {}),
        }  # fmt: skip


def _check(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if value is not None and not (number and math.isfinite(value) and 0 <= value < 1e12):
        raise InvalidResult(f"estimate: expected {name} to be a number from 0 on, or None, got {show(value)}")


@dataclass(frozen=True, slots=True)
class Actual:
    """What a job has cost: the sums of its `ctx.spent`, its estimate's included, and how long its attempts have run."""

    cost: float
    currency: str
    tokens: int
    items: int
    seconds: float
