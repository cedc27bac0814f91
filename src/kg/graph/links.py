"""The part of the graph that a walk goes over: passages, the concepts that they name, and relations between these."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

Place = tuple[Literal["concept", "passage"], int]
Edges = dict[tuple[Place, Place], float]

#: A passage is about what it begins with, after at most so many characters: an article, a quote, a heading's mark. From a concept
#: the walk goes there so many times as often.
BEGINS, ABOUT = 5, 5.0
#: Relations beside mentions; and the weak tier beside the precise one.
RELATED, WEAK = 0.5, 0.3


class Links:
    """`named` are the concepts that the question names: the walk begins at them, so they are no dead ends."""

    def __init__(self, named: Collection[int]) -> None:
        self._named = frozenset(named)
        self._mentions: dict[tuple[int, int], tuple[int, int, int]] = {}
        self._relations: Edges = {}
        self._within: dict[int, set[int]] = {}
        self._related: dict[int, set[int]] = {}

    def mention(self, passage: int, concept: int, count: int, seen: int, after: int) -> None:
        """`seen` is how often it is named anywhere, `after` how many characters stand before it. What is known stays."""
        self._mentions.setdefault((passage, concept), (count, seen, after))
        self._within.setdefault(passage, set()).add(concept)

    def relate(self, one: int, other: int, tier: str, confidence: float) -> None:
        edge: tuple[Place, Place] = (("concept", min(one, other)), ("concept", max(one, other)))
        weight = RELATED * (confidence if tier == "precise" else confidence * WEAK)
        self._relations[edge] = max(self._relations.get(edge, 0.0), weight)
        self._related.setdefault(one, set()).add(other)
        self._related.setdefault(other, set()).add(one)

    def edges(self) -> tuple[Edges, Edges]:
        """All of them, passages before concepts; and those that weigh otherwise from their second end."""
        edges = dict(self._relations)
        back: Edges = {}
        for (passage, concept), (count, seen, after) in self._mentions.items():
            if self._is_dead_end(passage, concept, count, seen):
                continue
            edge: tuple[Place, Place] = (("passage", passage), ("concept", concept))
            edges[edge] = min(count, 3) * rarity(seen)
            if after <= BEGINS:
                back[edge] = ABOUT * edges[edge]
        return edges, back

    def _is_dead_end(self, passage: int, concept: int, count: int, seen: int) -> bool:
        """Named nowhere else, and related to nothing outside of the passage: the walk could only come back."""
        return seen <= count and concept not in self._named and self._related.get(concept, set()) <= self._within[passage]


def rarity(seen: int) -> float:
    """A concept that is named everywhere tells little of each place."""
    return 1 / (1 + math.log(max(seen, 1)))
