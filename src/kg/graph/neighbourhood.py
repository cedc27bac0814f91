"""The neighbourhood of a concept, hop by hop, within a budget of concepts and of time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from kg._store import reading as store
from kg._store.verb import Row
from kg.errors import InvalidQuery
from kg.graph.fan import fan_out
from kg.graph.sight import Run
from kg.parts import Direction, Tier

Way = Literal["both", "out", "in"]
MOST_HOPS, MOST_NODES, MOST_SECONDS = 6, 2000, 30.0
#: Concepts that are asked for in one statement.
BATCH = 32


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which relations count: of a tier, of some types, and in which direction they are followed."""

    tier: Tier | None = None
    types: tuple[str, ...] | None = None
    way: Way = "both"


@dataclass(frozen=True, slots=True)
class Budget:
    """`per_concept`: the strongest relations of a concept that are followed, in each direction: what a hub has more is left out."""

    nodes: int = 100
    seconds: float = 2.0
    per_concept: int = 25

    def __post_init__(self) -> None:
        for name, value, most in (("nodes", self.nodes, MOST_NODES), ("seconds", self.seconds, MOST_SECONDS)):
            if not 0 < value <= most:
                raise InvalidQuery(f"{name}: expected more than 0, at most {most:g}, got {value:g}", field=name)


@dataclass(frozen=True, slots=True)
class Node:
    """`weight` is the product of confidences on the surest way from the start, `hops` its length."""

    id: int
    ontology: str
    label: str
    type: str
    seen_count: int
    hops: int
    weight: float


@dataclass(frozen=True, slots=True)
class Edge:
    id: int
    from_id: int
    to_id: int
    type: str
    tier: Tier
    direction: Direction
    confidence: float


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """`partial` says why there may be more: the time was up, or the budget of concepts was used. `phrase` is what the concept was
    found by, `score` how near it is."""

    concept: Node
    nodes: list[Node]
    edges: list[Edge]
    partial: Literal["time", "nodes"] | None
    phrase: str | None = None
    score: float | None = None


@dataclass
class _Walk:
    """What is known so far; it is an answer at any moment."""

    start: int
    budget: Budget
    reached: dict[int, tuple[int, float]] = field(default_factory=dict)
    edges: dict[int, Edge] = field(default_factory=dict)
    full: bool = False

    def take(self, rows: Sequence[Row], hop: int, new: dict[int, float]) -> None:
        for here, relation, other, outward, type, tier, direction, confidence, *_ in rows:
            ends = (here, other) if outward else (other, here)
            self.edges[relation] = Edge(relation, *ends, type, tier, direction, confidence)
            if other not in self.reached:
                new[other] = max(new.get(other, 0.0), self.reached[here][1] * confidence)

    def keep(self, new: dict[int, float], hop: int) -> list[int]:
        """The surest, as many as the budget has room for."""
        room = self.budget.nodes - (len(self.reached) - 1)
        ranked = sorted(new, key=lambda id: (-new[id], id))
        self.full = self.full or len(ranked) > room
        kept = ranked[:room]
        self.reached.update({id: (hop, new[id]) for id in kept})
        return kept

    def inside(self) -> Iterator[Edge]:
        return (edge for edge in self.edges.values() if edge.from_id in self.reached and edge.to_id in self.reached)


async def neighbourhood(
    run: Run, start: int, *, hops: int, budget: Budget, wanted: Wanted, ontologies: Sequence[int] | None
) -> Neighbourhood:
    """`start` can be seen: the caller has made sure."""
    if not 1 <= hops <= MOST_HOPS:
        raise InvalidQuery(f"hops: expected 1 to {MOST_HOPS}, got {hops}", field="hops")
    walk = _Walk(start, budget, {start: (0, 1.0)})
    late = False
    try:
        async with asyncio.timeout(budget.seconds):
            await _walk(run, walk, hops, wanted, ontologies)
    except TimeoutError:
        late = True
    rows = {row[0]: row for row in await run(store.get_nodes(list(walk.reached)))}
    nodes = [Node(*(*rows[id], hop, weight)) for id, (hop, weight) in walk.reached.items() if id in rows]
    first = next(node for node in nodes if node.id == start)
    others = sorted((node for node in nodes if node.id != start), key=lambda node: (node.hops, -node.weight, node.id))
    edges = sorted(walk.inside(), key=lambda edge: (-edge.confidence, edge.id))
    return Neighbourhood(first, others, edges, "time" if late else "nodes" if walk.full else None)


async def _walk(run: Run, walk: _Walk, hops: int, wanted: Wanted, ontologies: Sequence[int] | None) -> None:
    frontier = [walk.start]
    for hop in range(1, hops + 1):
        new: dict[int, float] = {}

        async def ask(ids: Sequence[int], hop: int = hop, new: dict[int, float] = new) -> None:
            verb = store.neighbours(
                ids, most=walk.budget.per_concept, ontologies=ontologies, tier=wanted.tier, types=wanted.types, direction=wanted.way
            )
            walk.take(await run(verb), hop, new)

        try:
            await fan_out(batches(frontier), ask)
        finally:
            frontier = walk.keep(new, hop)  # also of a hop that was cut off
        if not frontier or len(walk.reached) > walk.budget.nodes:
            return


def batches(ids: Sequence[int]) -> Iterator[list[int]]:
    left = iter(ids)
    while batch := list(islice(left, BATCH)):
        yield batch
