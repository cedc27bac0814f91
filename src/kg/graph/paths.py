"""Paths between two concepts: searched from both ends, level by level, then the best of what was found.

What is read is bounded: the strongest relations of a concept, and so many concepts of a level. Where an end is a hub, what the
other end has reached is looked up against it directly, so that none of its own many relations is missed for being weak.

No path leads through a date or a quantity: that two things happened in the same year connects half of everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from kg._store import reading as store
from kg._store.verb import Row
from kg.errors import InvalidQuery
from kg.graph.evidence import Evidence, evidence
from kg.graph.fan import fan_out
from kg.graph.neighbourhood import Edge, Wanted, batches
from kg.graph.sight import Run
from kg.parts import Direction

MOST_PATHS, MOST_HOPS = 20, 6
PER_CONCEPT = 40
PER_LEVEL = 256
NO_BRIDGES = frozenset({"date", "quantity"})
#: Steps of the search through what was read.
STEPS = 100_000


@dataclass(frozen=True, slots=True)
class Stop:
    """A concept on a path."""

    id: int
    ontology: str
    label: str
    type: str


@dataclass(frozen=True, slots=True)
class PathStep:
    """A relation on a path; `forward`: it leads from the stop before to the one after; `direction`: `both` if it leads back too."""

    relation_id: int
    type: str
    tier: str
    confidence: float
    forward: bool
    direction: Direction
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Path:
    stops: list[Stop]
    steps: list[PathStep]
    confidence: float


@dataclass(frozen=True, slots=True)
class Paths:
    """`bounded`: a hub's or a level's weaker relations were not followed, so that there may be others. `late`: the time was up."""

    paths: list[Path]
    bounded: bool
    late: bool


@dataclass
class Map:
    """What was read: for each two neighbours the surest relation."""

    edges: dict[int, dict[int, Edge]] = field(default_factory=dict)
    barred: set[int] = field(default_factory=set)

    def add(self, row: Row) -> None:
        here, relation, other, outward, *rest = row[:8]
        if here in self.barred or other in self.barred:
            return
        ends = (here, other) if outward else (other, here)
        edge = Edge(relation, *ends, *rest)
        for one, two in (ends, ends[::-1]):
            known = self.edges.setdefault(one, {})
            if two not in known or known[two].confidence < edge.confidence:
                known[two] = edge

    def bar(self, id: int) -> None:
        self.barred.add(id)
        for other in self.edges.pop(id, ()):
            self.edges[other].pop(id, None)

    def distances(self, end: int, most: int) -> dict[int, int]:
        found, level = {end: 0}, [end]
        for hop in range(1, most + 1):
            level = [two for one in level for two in self.edges.get(one, ()) if two not in found]
            found.update(dict.fromkeys(level, hop))
        return found

    def best(self, start: int, end: int, k: int, most: int) -> list[tuple[int, ...]]:
        """Up to k simple paths, the shortest first, of the same length the surest first."""
        walker = Walker(self, end, self.distances(end, most))
        found: list[tuple[int, ...]] = []
        for length in range(walker.left.get(start, most + 1), most + 1):
            some = sorted(walker.walks((start,), length, 20 * k), key=lambda path: (-self.confidence(path), path))
            found += some[: k - len(found)]
            if len(found) == k or walker.steps <= 0:
                break
        return found

    def along(self, path: Sequence[int]) -> Iterator[Edge]:
        return (self.edges[one][two] for one, two in pairwise(path))

    def confidence(self, path: Sequence[int]) -> float:
        product = 1.0
        for edge in self.along(path):
            product *= edge.confidence
        return product


@dataclass
class Walker:
    """Walks of exactly one length to `end`; never where what is `left` is further than that."""

    map: Map
    end: int
    left: dict[int, int]
    steps: int = STEPS

    def walks(self, path: tuple[int, ...], length: int, most: int) -> list[tuple[int, ...]]:
        if not length:
            return [path]
        found: list[tuple[int, ...]] = []
        near = self.map.edges.get(path[-1], {})
        for other in sorted(near, key=lambda id: (-near[id].confidence, id)):
            self.steps -= 1
            if self.steps <= 0 or len(found) >= most:
                break
            # the end only at the end
            if other not in path and self.left.get(other, length) < length and (other != self.end or length == 1):
                found += self.walks((*path, other), length - 1, most - len(found))
        return found


@dataclass
class Side:
    """What was reached from one end: `known` with the surest product of confidences, and the newest of it."""

    end: int
    known: dict[int, float]
    level: list[int]
    depth: int = 0
    hub: bool = False


class Search:
    def __init__(self, run: Run, wanted: Wanted, ontologies: Sequence[int] | None) -> None:
        self._run = run
        self._which: dict[str, Any] = {"ontologies": ontologies, "tier": wanted.tier, "types": wanted.types}
        self.map = Map()
        self.bounded = False
        self._bridges: set[int] = set()

    async def find(self, start: int, end: int, k: int, most: int) -> list[tuple[int, ...]]:
        sides = [Side(one, {one: 1.0}, [one]) for one in (start, end)]
        found: list[tuple[int, ...]] = []
        while len(found) < k:
            reach = sides[0].depth + sides[1].depth
            if reach >= most:
                break
            turn = [side for side in sides if side.level]
            if not turn:
                break
            # both ends at once at first; then the smaller side
            chosen = sides if reach == 0 and most > 1 else [min(turn, key=lambda side: len(side.level))]
            last = reach + len(chosen) == most
            await self._expand(chosen, list(sides[chosen[0] is sides[0]].known) if last and len(chosen) == 1 else None)
            await self._close(sides)
            found = await self.best(start, end, k, sides[0].depth + sides[1].depth)
        return found

    async def best(self, start: int, end: int, k: int, most: int) -> list[tuple[int, ...]]:
        """Those on a path are looked at, not all that was read: what is no bridge goes from the map, and the next best come."""
        while True:
            found = self.map.best(start, end, k, most)
            inner = {id for path in found for id in path[1:-1]} - self._bridges
            if not inner:
                return found
            kinds = {row[0]: row[3] for row in await self._run(store.get_nodes(sorted(inner)))}
            for id in inner:
                if kinds.get(id) in NO_BRIDGES:
                    self.map.bar(id)
                else:
                    self._bridges.add(id)

    async def _expand(self, sides: Sequence[Side], meet: Sequence[int] | None) -> None:
        """`meet`: after the last level only what the other side knows is of use."""
        asked = {id: side for side in sides for id in self._strongest(side)}
        fresh: dict[int, dict[int, float]] = {side.end: {} for side in sides}
        hubs: set[int] = set()

        async def ask(ids: Sequence[int]) -> None:
            for row in await self._run(store.neighbours(ids, most=PER_CONCEPT, meet=meet, **self._which)):
                here, other, confidence = row[0], row[2], row[7]
                self.map.add(row)
                side = asked[here]
                if row[8] == PER_CONCEPT:
                    hubs.add(here)
                if other not in side.known and other not in self.map.barred:
                    new = fresh[side.end]
                    new[other] = max(new.get(other, 0.0), side.known[here] * confidence)

        await fan_out(batches(list(asked)), ask)
        self.bounded = self.bounded or bool(hubs)
        for side in sides:
            side.hub = side.hub or side.end in hubs
            side.level = list(fresh[side.end])
            side.known.update(fresh[side.end])
            side.depth += 1

    def _strongest(self, side: Side) -> list[int]:
        open = [id for id in side.level if id not in self.map.barred]
        if len(open) > PER_LEVEL:
            self.bounded = True
            return sorted(open, key=lambda id: (-side.known[id], id))[:PER_LEVEL]
        return open

    async def _close(self, sides: Sequence[Side]) -> None:
        """What the one side has just reached, against the other end if that is a hub."""
        for side, other in (sides, sides[::-1]):
            if other.hub and side.level:
                verb = store.relations_between(other.end, [side.end, *side.level], **self._which)
                for row in await self._run(verb):
                    self.map.add(row)


async def paths(
    run: Run, start: int, end: int, *, k: int, most: int, seconds: float, wanted: Wanted, ontologies: Sequence[int] | None
) -> Paths:
    """Both ends can be seen: the caller has made sure."""
    for name, value, bound in (("k", k, MOST_PATHS), ("max_hops", most, MOST_HOPS)):
        if not 1 <= value <= bound:
            raise InvalidQuery(f"{name}: expected 1 to {bound}, got {value}", field=name)
    if start == end:
        raise InvalidQuery("end: both ends are the same concept; choose two", field="end")
    search, late = Search(run, wanted, ontologies), False
    try:
        async with asyncio.timeout(seconds):
            found = await search.find(start, end, k, most)
    except TimeoutError:
        found, late = await search.best(start, end, k, most), True
    return Paths(await _told(run, search.map, found), search.bounded, late)


async def _told(run: Run, map: Map, found: Sequence[tuple[int, ...]]) -> list[Path]:
    """Labels and quotes for ids."""
    if not found:
        return []
    stops = {row[0]: Stop(*row[:4]) for row in await run(store.get_nodes(sorted({id for path in found for id in path})))}
    relations = sorted({edge.id for path in found for edge in map.along(path)})
    quotes = {row[0]: evidence(row[1:]) for row in await run(store.relation_quotes(relations, 1))}
    told = []
    for path in found:
        if all(id in stops for id in path):  # one may have gone meanwhile
            steps = [
                PathStep(edge.id, edge.type, edge.tier, edge.confidence, edge.from_id == one, edge.direction, quotes.get(edge.id))
                for one, edge in zip(path, map.along(path), strict=False)
            ]
            told.append(Path([stops[id] for id in path], steps, map.confidence(path)))
    return told
