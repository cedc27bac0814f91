"""`Pipeline`: the parts that an ingestion is made of, in one object. `kg.app` puts it together; tests put in what they like."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kg.errors import AddressRefused
from kg.parts import Chunker, Embed, Extraction, Extractor, Known, Parsed, Usage, Vector

T = TypeVar("T")
#: Bytes, a name, and what they are said to be → what they are; `Unsupported` or `Unreadable` says what is wrong.
Sniff = Callable[[bytes, str, str], str]
Parse = Callable[[bytes, str, str], Awaitable[Parsed]]
#: A chunk's text and where it begins → (start, finish, text) of each passage.
Passages = Callable[[str, int], Sequence[tuple[int, int, str]]]
#: Opens a transaction of its own, each time that it is called, and stores with these vectors.
Act = Callable[[Any], Awaitable[T]]


class Page(Protocol):
    """What an address gave. `url` is where it was found in the end, `media_type` what its server said."""

    @property
    def data(self) -> bytes: ...
    @property
    def media_type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def url(self) -> str: ...


Fetch = Callable[[str], Awaitable[Page]]


class Graph(Protocol):
    """What is made of chunks beyond their text. Models are asked before a transaction, never in one: `storing` and `dropping`
    find the vectors that are needed and call `act` with them, again if others have changed the graph meanwhile."""

    async def known(self, ontology: int, epoch: int, model: str, vectors: Sequence[Vector]) -> Sequence[Known]:
        """Concepts near these vectors, as of an epoch, for the extractor."""
        ...

    async def storing(self, embed: Embed, ontology: int, space: int, extraction: Extraction, act: Act[T]) -> T: ...

    async def store(  # noqa: PLR0917 - what belongs to a chunk
        self, conn: Any, ontology: int, source: int, extraction: Extraction, vectors: Any, space: int
    ) -> None: ...

    async def dropping(self, embed: Embed, space: int, sources: Sequence[int], act: Act[T], *, patience: float = ...) -> T:
        """Many sources go in pieces after `act`; whoever has no patience for all of them leaves the rest to upkeep."""
        ...

    async def drop(self, conn: Any, ontology: int, sources: Sequence[int], vectors: Any, space: int) -> None: ...


def _nobody_knows(chunks: int, usage: Usage) -> float | None:
    return None


def _as_told(data: bytes, name: str, declared: str) -> str:
    return declared or "text/plain"


async def _nowhere(url: str) -> Page:
    raise AddressRefused(f"addresses are not fetched here: {url[:200]!r}")


@dataclass(frozen=True)
class Pipeline:
    parse: Parse
    chunker: Chunker
    passages: Passages
    extractor: Extractor
    embed: Embed
    graph: Graph
    chunks_at_once: int = 8
    #: How long so many chunks take at today's limits, for estimates.
    seconds: Callable[[int, Usage], float | None] = _nobody_knows
    sniff: Sniff = _as_told
    fetch: Fetch = _nowhere

    def doubts(self, parsed: Parsed, *, graph: bool) -> tuple[str, ...]:
        """What was doubtful when it was read, and what its extractor, if it has an opinion, will not find in it."""
        ask: Callable[[str], Sequence[str]] | None = getattr(self.extractor, "doubts", None) if graph else None
        return (*parsed.warnings, *(ask(parsed.text) if ask else ()))

    async def load(self) -> None:
        """How long its vectors are, some embedders must be asked. A worker has done so when it started, unless their provider was
        away; a child process that runs a suspect, and an HTTP process, have not."""
        load = getattr(self.embed, "load", None)
        if inspect.iscoroutinefunction(load):  # else it is no question: a model that is here reads its files when it is first used
            await load()
