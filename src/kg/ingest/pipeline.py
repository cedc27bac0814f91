"""`Pipeline`: the parts that an ingestion is made of, in one object. `kg.app` puts it together; tests put in what they like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kg.parts import Chunk, Chunker, Embed, Extraction, Extractor, Known, Parsed
from lanework import Context

Parse = Callable[[bytes, str, str], Awaitable[Parsed]]
#: A chunk's text and where it begins → (start, finish, text) of each passage, counted in the document's text.
Passages = Callable[[str, int], Sequence[tuple[int, int, str]]]


class Graph(Protocol):
    """What is stored of a chunk beyond its text. `prepare` may call models and stores nothing; `store` runs in the chunk's own
    transaction and calls nobody."""

    async def known(self, ontology: int, epoch: int, text: str) -> Sequence[Known]: ...

    async def prepare(self, extraction: Extraction, embed: Embed) -> Any: ...

    async def store(  # noqa: PLR0917 - what a chunk has
        self, conn: Any, ontology: int, source: int, chunk: Chunk, extraction: Extraction, prepared: Any
    ) -> None: ...

    async def drop_sources(self, conn: Any, ontology: int, sources: Sequence[int]) -> None: ...

    async def remove(self, conn: Any, document: int) -> object: ...


@dataclass(frozen=True)
class Minds:
    """The models of one job: their calls are accounted to it."""

    extractor: Extractor
    embed: Embed


@dataclass(frozen=True)
class Pipeline:
    parse: Parse
    chunker: Chunker
    passages: Passages
    minds: Callable[[Context | None], Minds]
    graph: Graph
    chunks_at_once: int = 8
    #: Seconds that the extraction of one chunk takes, for estimates; None: nobody knows.
    seconds_per_chunk: Callable[[], float | None] = lambda: None
