"""Search: by meaning (nearest vectors), by words (full text), or both by reciprocal rank."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kg._store import reading as store
from kg._store.verb import Row, Verb
from kg.errors import InvalidQuery
from kg.graph.evidence import Evidence, evidence
from kg.graph.sight import Run
from kg.parts import Embed, Vector

Mode = Literal["semantic", "text", "hybrid"]
PassageMode = Literal["semantic", "text", "hybrid", "graph"]
MODES: tuple[Mode, ...] = ("semantic", "text", "hybrid")
MOST = 200
LONGEST = 2000
#: Of each of the two lists that are put together, so many more than asked for.
DEPTH = 50
REMEMBERED = 512
#: Letters of scripts that put no spaces between words (as `kg.has_unspaced` has them).
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
#: Cosine from which a concept is about what was asked for (measured: `kg.graph.phrases`).
LIKE = 0.5


@dataclass(frozen=True, slots=True)
class Hit:
    """A concept. `score` compares hits of one answer. `likeness` is how near it is by meaning (cosine), null if it was found by its
    words alone. `like`: it has words of the query, or is near enough; else it is among the nearest, and nothing more. `grounding`:
    from -1 (its evidence speaks against it) to 1; `diversity`: mean distance between its neighbours; both null where nothing can be
    said."""

    id: int
    ontology: str
    label: str
    type: str
    description: str
    score: float
    likeness: float | None
    like: bool
    seen_count: int
    grounding: float | None
    diversity: float | None
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document's text, from `start` to `end`. `collection`: its document was ingested without a graph, into this."""

    id: int
    ontology: str
    document_id: int
    document: str
    title: str
    source_id: int
    start: int
    end: int
    text: str
    score: float
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """A query in the form that the store takes; `mode` is what it came to."""

    mode: Mode
    model: str | None
    vector: Vector | None
    words: str | None

    @property
    def names_can_be_told(self) -> bool:
        """Are the names in it set off by spaces? Else no walk can begin at them."""
        return self.words is not None and not _UNSPACED.search(self.words)


class Searching:
    def __init__(self, run: Run, embed: Embed | None, like: float = LIKE) -> None:
        self._run, self._embed, self._like = run, embed, like
        self._known: OrderedDict[str, Vector] = OrderedDict()

    async def asked(self, query: str, mode: Mode) -> Asked:
        words = " ".join(query.split())
        if not words:
            raise InvalidQuery("query: expected some words", field="query")
        if len(query) > LONGEST:
            raise InvalidQuery(f"query: expected at most {LONGEST} characters, got {len(query)}", field="query")
        if mode not in MODES:
            raise InvalidQuery(f"mode: expected {', '.join(MODES)}, got {mode!r}", field="mode")
        model = None if self._embed is None else self._embed.name
        if self._embed is None:
            if mode == "semantic":
                raise InvalidQuery("mode: a search by meaning needs an embedding model, and none is set", field="mode")
            mode = "text"
        vector = None if mode == "text" else await self._vector(words)
        return Asked(mode, model, vector, None if mode == "semantic" else words)

    async def _vector(self, words: str) -> Vector:
        """Remembered: people ask again, and page."""
        assert self._embed is not None
        found = self._known.get(words)
        if found is None:
            found = (await self._embed.embed([words])).vectors[0]
            self._known[words] = found
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        self._known.move_to_end(words)
        return found

    async def concepts(self, asked: Asked, ontologies: Sequence[int] | None, limit: int) -> list[Hit]:
        rows = await self._run(self._verb("concepts", asked, ontologies, limit))
        return [self._hit(row) for row in rows]

    def _hit(self, row: Row) -> Hit:
        likeness, has_words = row[6:8]
        like = has_words or (likeness is not None and likeness >= self._like)
        return Hit(*(*row[:7], like, *row[8:11], evidence(row[11:])))

    async def passages(self, asked: Asked, ontologies: Sequence[int] | None, limit: int) -> list[Passage]:
        return [Passage(*row) for row in await self._run(self._verb("passages", asked, ontologies, limit))]

    def _verb(self, what: str, asked: Asked, ontologies: Sequence[int] | None, limit: int) -> Verb[list[Row]]:
        checked(limit)
        depth = limit if asked.mode != "hybrid" else max(limit, DEPTH)
        return store.search(
            what, model=asked.model, vector=asked.vector, words=asked.words, ontologies=ontologies, depth=depth, limit=limit
        )


def checked(limit: int) -> int:
    if not 1 <= limit <= MOST:
        raise InvalidQuery(f"limit: expected 1 to {MOST}, got {limit}", field="limit")
    return limit
