"""The parts of the pipeline that can be replaced: a protocol and its values each. Everything here is plain data and stores as JSON.

Parser     bytes → text
Chunker    text → chunks with exact offsets
Extractor  a chunk → concepts, instances, relationships
Embed      texts → vectors
Chat       messages → an answer
VectorStore  vectors under names, and the nearest of them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

Vector = Sequence[float]
Tier = Literal["precise", "weak"]
Direction = Literal["forward", "both"]


@dataclass(frozen=True)
class Parsed:
    """What a parser found. Offsets of everything that follows are characters of `text`."""

    text: str
    title: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Parser(Protocol):
    """Runs in a child process with a time and a memory limit; raises `kg.errors.Unreadable` with what is wrong."""

    @property
    def media_types(self) -> Sequence[str]: ...

    def parse(self, data: bytes, name: str) -> Parsed: ...


@dataclass(frozen=True)
class Chunk:
    """`text[start:end]` of the parsed text. `own` is where the overlap with the chunk before ends: the parts
    `text[own:end]` of all chunks, one after the other, are the whole text."""

    ordinal: int
    start: int
    own: int
    end: int
    text: str


@runtime_checkable
class Chunker(Protocol):
    def chunks(self, text: str) -> list[Chunk]: ...


@dataclass(frozen=True)
class Concept:
    """`key` is the extractor's own and is known within its answer alone."""

    key: str
    label: str
    description: str = ""
    type: str = ""
    search_terms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Instance:
    """`quote` occurs in the chunk at `start`, which counts from the chunk's beginning."""

    concept_key: str
    quote: str
    start: int


@dataclass(frozen=True)
class Relationship:
    from_key: str
    to_key: str
    type: str
    confidence: float = 1.0
    direction: Direction = "forward"
    tier: Tier = "precise"


@dataclass(frozen=True)
class Usage:
    """What a call cost. `cost` is in USD, by the price list of the provider."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out, self.cost + other.cost)


@dataclass(frozen=True)
class Extraction:
    """`dropped` counts the quotes that do not occur in the chunk and the relationships whose ends are unknown."""

    concepts: tuple[Concept, ...] = ()
    instances: tuple[Instance, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    dropped: int = 0
    usage: Usage = Usage()


@dataclass(frozen=True)
class Known:
    """A concept that the ontology has already, shown to the extractor."""

    label: str
    description: str = ""


@runtime_checkable
class Extractor(Protocol):
    """`name` changes whenever its answers may: it is part of what a stored answer is known by."""

    @property
    def name(self) -> str: ...

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction: ...

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        """Low and high of what `extract` would cost; calls nobody."""
        ...


@dataclass(frozen=True)
class Embedded:
    vectors: tuple[Vector, ...]
    usage: Usage = Usage()


@runtime_checkable
class Embed(Protocol):
    """Vectors have length one. `name` is stored beside each vector: vectors of two names are never compared. One that is
    `free = True` makes its vectors here, and costs nothing: what a crash takes is made again, and no job stores it as an answer."""

    @property
    def name(self) -> str: ...
    @property
    def dimensions(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Embedded: ...


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Answer:
    text: str
    usage: Usage = Usage()


@runtime_checkable
class Chat(Protocol):
    """With `schema` (JSON Schema) the answer's text is JSON that should fit it; the caller checks."""

    @property
    def name(self) -> str: ...

    async def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 4096
    ) -> Answer: ...


@dataclass(frozen=True)
class Item:
    """A text in a collection. The same `id` again replaces it."""

    id: str
    text: str
    vector: Vector
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Near:
    id: str
    text: str
    score: float
    meta: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class VectorStore(Protocol):
    """`model` is the `name` of the Embed that made the vectors."""

    async def put(self, collection: str, model: str, items: Sequence[Item]) -> None: ...

    async def search(self, collection: str, model: str, vector: Vector, *, limit: int = 10) -> list[Near]: ...

    async def remove(self, collection: str, ids: Sequence[str]) -> int: ...
