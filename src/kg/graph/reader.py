"""`Reader`: the graph for whoever reads it. One service for HTTP, the command line and other code."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from kg._store import reading as store
from kg.collections.searching import Pieces
from kg.errors import GraphNotFound, InvalidQuery
from kg.graph.concept import MOST as MOST_FACTS
from kg.graph.concept import ConceptPage, concept
from kg.graph.exporting import Format, export
from kg.graph.grounding import Stances
from kg.graph.neighbourhood import Budget, Neighbourhood, Wanted, neighbourhood
from kg.graph.paths import Path, paths
from kg.graph.phrases import Phrases, Resolved
from kg.graph.questions import Questions, Walk
from kg.graph.searching import LIKE, Hit, Mode, Passage, PassageMode, Searching, checked
from kg.graph.sight import EVERYTHING, Sight
from kg.parts import Embed
from lanework import Lanework


@dataclass(frozen=True, slots=True)
class Hits:
    """`mode` is what was done: without an embedding model, hybrid is text."""

    mode: Mode
    concepts: list[Hit]


@dataclass(frozen=True, slots=True)
class Passages:
    mode: PassageMode
    passages: list[Passage]


@dataclass(frozen=True, slots=True)
class Connection:
    start: Resolved
    end: Resolved
    paths: list[Path]
    bounded: bool
    late: bool


class Reader:
    """`embed` makes vectors of queries; without one, searches are by words alone. `walk` is how the graph helps with questions.
    `like`: the cosine from which a phrase is taken for a concept that is not called so, and a hit is no mere neighbour."""

    def __init__(self, work: Lanework, embed: Embed | None = None, walk: Walk | None = None, *, like: float = LIKE) -> None:
        self._run = work._arun
        self._model = None if embed is None else embed.name
        self._searching = Searching(self._run, embed, like)
        self._pieces = Pieces(self._run)
        self._phrases = Phrases(self._run, self._searching, like)
        self._stances = Stances(self._run, embed)
        self._questions = None if walk is None else Questions(self._run, walk)

    async def search(
        self, query: str, *, mode: Mode = "hybrid", ontology: str | None = None, limit: int = 10, sight: Sight = EVERYTHING
    ) -> Hits:
        asked = await self._searching.asked(query, mode)
        await self._stances.ensure()
        return Hits(asked.mode, await self._searching.concepts(asked, await sight.within(self._run, ontology), limit))

    async def passages(
        self, query: str, *, mode: PassageMode = "graph", ontology: str | None = None, collection: str | None = None,
        limit: int = 10, sight: Sight = EVERYTHING,
    ) -> Passages:  # fmt: skip
        """Mode `graph` also follows the graph from what it finds: for questions whose answer is in more than one passage. Without
        an embedding model it is `text`, and `hybrid` for a question without spaces. Documents without a graph are found
        too; `collection`: those of one, and nothing else."""
        asked = await self._searching.asked(query, "hybrid" if mode == "graph" else mode)
        ontologies = await sight.within(self._run, ontology)
        if collection is not None:
            pieces = await self._pieces.alone(asked, ontologies, collection, checked(limit))
            if pieces is None:
                raise GraphNotFound(f"there is no collection {collection!r}")
            return Passages(asked.mode, pieces)
        told: PassageMode = asked.mode
        if mode == "graph" and asked.mode == "hybrid" and self._questions is not None and asked.names_can_be_told:
            told, found = "graph", await self._questions.passages(asked, ontologies, checked(limit))
        else:
            found = await self._searching.passages(asked, ontologies, limit)
        return Passages(told, await self._pieces.among(found, asked, ontologies, limit, by_graph=told == "graph"))

    async def resolve(self, phrase: str, *, ontology: str | None = None, sight: Sight = EVERYTHING) -> Resolved:
        """The concept that a phrase means; `NothingLike` if there is none."""
        return await self._phrases.resolve(phrase, await sight.within(self._run, ontology))

    async def related(
        self, concept: int | str, *, hops: int = 2, budget: Budget | None = None, wanted: Wanted | None = None,
        ontology: str | None = None, sight: Sight = EVERYTHING,
    ) -> Neighbourhood:  # fmt: skip
        """Of an id, or of what a phrase means."""
        ontologies = await sight.within(self._run, ontology)
        start = await self._resolved(concept, ontologies)
        found = await neighbourhood(
            self._run, start.id, hops=hops, budget=budget or Budget(), wanted=wanted or Wanted(), ontologies=ontologies
        )
        return replace(found, phrase=start.phrase, score=start.score)

    async def connect(
        self, start: int | str, end: int | str, *, k: int = 3, max_hops: int = 4, seconds: float = 5.0,
        wanted: Wanted | None = None, ontology: str | None = None, sight: Sight = EVERYTHING,
    ) -> Connection:  # fmt: skip
        """Ends are ids, or phrases."""
        ontologies = await sight.within(self._run, ontology)
        ends = [await self._resolved(end, ontologies) for end in (start, end)]
        found = await paths(
            self._run, ends[0].id, ends[1].id, k=k, most=max_hops, seconds=seconds, wanted=wanted or Wanted(), ontologies=ontologies
        )
        return Connection(ends[0], ends[1], found.paths, found.bounded, found.late)

    async def concept(
        self, id: int, *, limit: int = 20, ontology: str | None = None, sight: Sight = EVERYTHING
    ) -> ConceptPage:  # fmt: skip
        if not 1 <= limit <= MOST_FACTS:
            raise InvalidQuery(f"limit: expected 1 to {MOST_FACTS}, got {limit}", field="limit")
        await self._stances.ensure()
        found = await concept(self._run, id, self._model, limit, await sight.within(self._run, ontology))
        if found is None:
            raise GraphNotFound(_no_concept(id, ontology))
        return found

    async def export(self, format: Format, *, ontology: str | None = None, sight: Sight = EVERYTHING) -> AsyncIterator[bytes]:
        """Piece by piece. What cannot be exported is said before the first piece is asked for."""
        return export(self._run, format, await sight.ontologies(self._run, ontology))

    async def _existing(self, id: int, ontologies: list[int] | None) -> Resolved:
        rows = await self._run(store.get_nodes([id], ontologies))
        if not rows and (now := await self._run(store.moved_to(id))) is not None:
            rows = await self._run(store.get_nodes([now], ontologies))
        if not rows:
            raise GraphNotFound(f"there is no concept {id}")
        return Resolved(*rows[0][:3])

    async def _resolved(self, end: int | str, ontologies: list[int] | None) -> Resolved:
        if isinstance(end, int):
            return await self._existing(end, ontologies)
        return await self._phrases.resolve(end, ontologies)


def _no_concept(id: int, ontology: str | None) -> str:
    return f"there is no concept {id}" + ("" if ontology is None else f" in the ontology {ontology!r}")
