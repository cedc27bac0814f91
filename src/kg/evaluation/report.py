"""A row of the evaluation: what was measured, on what, and what it should be."""

from __future__ import annotations

from dataclasses import dataclass

from kg.evaluation.interval import Interval


@dataclass(frozen=True)
class Row:
    """`within`: what it would be on other data of this kind, in 95 of 100 cases. `split` says which part of the data it was
    measured on: what is tuned on one is reported on the other."""

    name: str
    figure: float | None
    target: float | None
    items: int
    what: str
    split: str
    note: str = ""
    within: Interval | None = None

    @property
    def reached(self) -> bool | None:
        return None if self.figure is None or self.target is None else self.figure >= self.target
