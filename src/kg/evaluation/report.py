"""A row of the evaluation: what was measured, on what, and what it should be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """`split` says which half of the data: what is tuned on one is reported on the other."""

    name: str
    figure: float | None
    target: float | None
    items: int
    what: str
    split: str
    note: str = ""

    @property
    def reached(self) -> bool | None:
        return None if self.figure is None or self.target is None else self.figure >= self.target
