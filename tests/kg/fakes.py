"""Parts of a pipeline that need no model and no time: they count what they are asked, and can be told to fail or to wait."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, LiteralString, TypeVar

import psycopg

from kg._store.schema import prepare
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.documents.fetching import Fetcher
from kg.documents.sniffing import sniff
from kg.errors import InvalidDocument
from kg.ingest.pipeline import Act, Graph, Page, Parse, Pipeline
from kg.jobs import ingestion
from kg.models.models import Models
from kg.ontologies.ontologies import Ontologies
from kg.parts import Chunk, Chunker, Concept, Embed, Embedded, Extraction, Instance, Known, Parsed, Relationship, Usage, Vector
from lanework import Lanework

T = TypeVar("T")
TEXT = "Lanes have Slots.\n\nWorkers take Jobs.\n\nLeaders sweep."


class Unreadable(InvalidDocument):
    error_class = "invalid_input"


UNREADABLE = "unreadable"


async def parse(data: bytes, media_type: str, name: str) -> Parsed:
    text = data.decode()
    if text.startswith(UNREADABLE):
        raise Unreadable("there is no text in it")
    return Parsed(text, title=text.split("\n", 1)[0])


class Paragraphs:
    """A chunk a paragraph, without overlap."""

    def chunks(self, text: str) -> list[Chunk]:
        places = [0, *(found.end() for found in re.finditer(r"\n\n", text))]
        ends = [*places[1:], len(text)]
        return [Chunk(n, start, start, end, text[start:end]) for n, (start, end) in enumerate(zip(places, ends, strict=True))]


def passages(text: str, start: int) -> list[tuple[int, int, str]]:
    return [(start, start + len(text), text)]


@dataclass
class FakeExtractor:
    """Capitalised words are concepts, and each uses the next one.

    `fails`: words that make a chunk fail, with what is raised; `gates`: words that make it wait."""

    name: str = "fake-1"
    calls: Counter[str] = field(default_factory=Counter)
    fails: dict[str, Exception] = field(default_factory=dict)
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    reached: dict[str, asyncio.Event] = field(default_factory=dict)
    price: float = 0.0

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        self.calls[text] += 1
        for word, event in self.reached.items():
            if word in text:
                event.set()
        for word, gate in self.gates.items():
            if word in text:
                await gate.wait()
        for word, error in self.fails.items():
            if word in text:
                raise error
        found = list(re.finditer(r"[A-Z]\w+", text))
        concepts = {match[0]: Concept(match[0], match[0]) for match in found}
        return Extraction(
            tuple(concepts.values()),
            tuple(Instance(match[0], match[0], match.start()) for match in found),
            tuple(Relationship(one, other, "USES") for one, other in pairwise(concepts)),
            usage=Usage(len(text), 10),
        )

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        return Usage(100, 10, self.price / 2), Usage(200, 20, self.price)


class FakeEmbed:
    name, dimensions = "fake-embed", 8

    def __init__(self) -> None:
        self.texts: Counter[str] = Counter()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts.update(texts)
        return Embedded(tuple(tuple(byte / 255 for byte in hashlib.sha256(text.encode()).digest()[:8]) for text in texts))


@dataclass(frozen=True)
class FakePage:
    data: bytes
    media_type: str = "text/plain"
    name: str = "page.txt"
    url: str = ""


class FakeWeb:
    """What is at which address, or what asking for it raises; in the order of the askings, the last again and again. Other
    addresses are fetched for real."""

    def __init__(self) -> None:
        self.pages: dict[str, list[str | bytes | Page | Exception]] = {}
        self.asked: Counter[str] = Counter()
        self.gate: asyncio.Event | None = None
        self.reached = asyncio.Event()

    def has(self, url: str, *pages: str | bytes | Page | Exception) -> None:
        self.pages[url] = list(pages)

    async def fetch(self, url: str) -> Page:
        self.asked[url] += 1
        self.reached.set()
        if self.gate is not None:
            await self.gate.wait()
        if url not in self.pages:
            return await Fetcher().fetch(url)
        pages = self.pages[url]
        found = pages.pop(0) if len(pages) > 1 else pages[0]
        if isinstance(found, Exception):
            raise found
        if isinstance(found, (str, bytes)):
            return FakePage(found.encode() if isinstance(found, str) else found, url=url)
        return found


class FakeGraph:
    """A table of its own. `gate`: nothing is stored before it opens."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()
        self.stored = 0

    async def known(self, ontology: int, epoch: int, model: str, vectors: Sequence[Vector]) -> Sequence[Known]:
        return ()

    async def storing(self, embed: Embed, ontology: int, space: int, extraction: Extraction, act: Act[T]) -> T:
        await self.gate.wait()
        return await act({})

    async def store(self, conn: Any, ontology: int, source: int, extraction: Extraction, vectors: Any, space: int) -> None:
        for one in extraction.instances:
            await conn.execute(
                "insert into fake_graph select id, %s, start + %s from kg.sources where id = %s", [one.quote, one.start, source]
            )
        self.stored += 1

    async def dropping(self, embed: Embed, space: int, sources: Sequence[int], act: Act[T], *, patience: float = 0.0) -> T:
        return await act({})

    async def drop(self, conn: Any, ontology: int, sources: Sequence[int], vectors: Any, space: int) -> None:
        await conn.execute("delete from kg.sources where id = any (%s)", [list(sources)])


class Parts:
    """What `make_api` is given in the place of models and a pipeline that settings name."""

    def __init__(self, chunks_at_once: int = 4, parse: Parse = parse) -> None:
        self.extractor, self.embed, self.graph = FakeExtractor(), FakeEmbed(), FakeGraph()
        self.models, self.searching, self.web = Models(self.embed, self.extractor), self.embed, FakeWeb()
        self.pipeline = Pipeline(
            parse, Paragraphs(), passages, self.extractor, self.embed, self.graph, chunks_at_once, sniff=sniff, fetch=self.web.fetch
        )


@dataclass
class Bench:
    """A platform with fake parts, on a database."""

    work: Lanework
    documents: Documents
    ontologies: Ontologies
    extractor: FakeExtractor
    embed: FakeEmbed
    graph: FakeGraph
    web: FakeWeb


def make(
    dsn: str,
    *,
    chunks_at_once: int = 4,
    auto_approve: float = 1.0,
    chunker: Chunker | None = None,
    grows: Callable[[Lanework], Graph] | None = None,
    embed: FakeEmbed | None = None,
    **settings: Any,
) -> Bench:
    """`grows` makes the graph; else chunks go to a table of their own."""
    work = Lanework(dsn, **{"beat": 0.2, "idle_beat": 0.2, "sweep": 0.5, **settings})
    work.lane("interactive", max_slots=4, poll_interval_ms=100)
    work.lane("estimates", max_slots=8, poll_interval_ms=100)
    extractor, embed, graph, web = FakeExtractor(), embed or FakeEmbed(), FakeGraph(), FakeWeb()
    grown = graph if grows is None else grows(work)
    pipeline = Pipeline(parse, chunker or Paragraphs(), passages, extractor, embed, grown, chunks_at_once, fetch=web.fetch)
    job = ingestion.declare(work, lambda: pipeline, auto_approve=auto_approve)
    documents = Documents(
        work, job, lambda: pipeline, sniff=lambda data, name, declared: declared or "text/plain", size_limit=1_000_000
    )
    ontologies = Ontologies(work, remove=lambda id, by: documents.delete(id, by=by))
    prepare(work)
    return Bench(work, documents, ontologies, extractor, embed, graph, web)


# -- for tests -----------------------------------------------------------------------------------------------------------------


def new(text: str = TEXT, **more: Any) -> New:
    return New(text.encode(), **{"name": "a.txt", "ontology": "manual", "owner": "ada", **more})


def on(database: str, main: Callable[[Bench], Awaitable[None]], **settings: Any) -> None:
    bench = make(database, **settings)
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute("create table fake_graph (source bigint references kg.sources on delete cascade, word text, start int)")

    async def run() -> None:
        async with bench.work:
            await main(bench)

    asyncio.run(run())


def graph(database: str) -> list[tuple[str, int]]:
    with psycopg.connect(database) as conn:
        return sorted(conn.execute("select word, start from fake_graph").fetchall())


def ask(database: str, query: LiteralString, *values: Any) -> Any:
    with psycopg.connect(database, autocommit=True) as conn:
        row = conn.execute(query, values).fetchone()
        return row and row[0]
