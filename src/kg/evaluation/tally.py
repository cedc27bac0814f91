"""What was found, what people have marked, and what is both: of one document, or of several together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Tally:
    right: int
    found: int
    marked: int

    @property
    def precision(self) -> float:
        return self.right / max(self.found, 1)

    @property
    def recall(self) -> float:
        return self.right / max(self.marked, 1)

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / max(self.precision + self.recall, 1e-9)


def total(tallies: Iterable[Tally]) -> Tally:
    some = list(tallies)
    return Tally(sum(one.right for one in some), sum(one.found for one in some), sum(one.marked for one in some))
