"""How sure a figure is: what it would have been on other documents like these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
ROUNDS = 200


class Interval(NamedTuple):
    """Between which bounds 95 of 100 such samples lie."""

    low: float
    high: float


def interval(items: Sequence[T], figure: Callable[[Sequence[T]], float], *, rounds: int = ROUNDS) -> Interval | None:
    """By bootstrap over whole documents: what stands in one document is no independent sample. The same figures every time."""
    if len(items) < 2:
        return None
    drawn = np.random.default_rng(0).integers(0, len(items), (rounds, len(items)))
    figures = [figure([items[number] for number in row]) for row in drawn.tolist()]
    low, high = np.percentile(figures, (2.5, 97.5))
    return Interval(float(low), float(high))
