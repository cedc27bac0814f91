# ruff: noqa: E501 - queries
"""Graphs for tests: documents of chunks with stored answers, an embedder without a model, and a graph as a value to compare."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import math
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from kg._store.schema import prepare
from kg.graph import writing
from kg.graph.said import meaning, said
from kg.parts import Chunk, Concept, Embedded, Extraction, Instance, Relationship, Vector
from lanework import Lanework

DIMENSIONS = 24
Conn = psycopg.AsyncConnection[Any]


def _word(word: str) -> list[float]:
    drawn = random.Random(f"word {word}")
    return [drawn.gauss(0, 1) for _ in range(DIMENSIONS)]


def vector(text: str) -> Vector:
    """Texts that share words are near each other."""
    words = text.lower().replace(":", " ").split() or [""]
    total = [sum(column) for column in zip(*map(_word, words), strict=True)]
    length = math.sqrt(sum(one * one for one in total)) or 1.0
    return [one / length for one in total]


class Words:
    """An Embed. `asked` are the texts that it was given."""

    name, dimensions = "words", DIMENSIONS

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked += texts
        return Embedded(tuple(vector(text) for text in texts))


@dataclass(frozen=True)
class Document:
    name: str
    chunks: tuple[Extraction, ...]

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(self.name.encode()).digest()

    def text(self, ordinal: int) -> str:
        return f"{self.name} {ordinal} " + "x" * 200


def extraction(
    concepts: Iterable[tuple[str, str, str, tuple[str, ...]]],
    links: Iterable[tuple[int, int, str, float]] = (),
    *,
    tier: Any = "precise",
) -> Extraction:
    """Concepts are (label, type, description, search terms), links (from, to, type, confidence) by position."""
    made = [Concept(f"c{at}", label, said_of_it, type, terms) for at, (label, type, said_of_it, terms) in enumerate(concepts)]
    return Extraction(
        tuple(made),
        tuple(Instance(one.key, one.label, 3 * at) for at, one in enumerate(made)),
        tuple(Relationship(f"c{a}", f"c{b}", type, confidence, tier=tier) for a, b, type, confidence in links),
    )


def texts(document: Document) -> list[Chunk]:
    starts = [at * 200 for at in range(len(document.chunks))]
    return [Chunk(at, start, start, start + 200, document.text(at)) for at, start in enumerate(starts)]


async def ontology(conn: Conn, name: str) -> int:
    cursor = await conn.execute("insert into kg.ontologies (name) values (%s) returning id", [name])
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def space(conn: Conn) -> int:
    cursor = await conn.execute(
        "insert into kg.spaces (model, dimensions) values ('words', %s) on conflict (model) do update set model = excluded.model returning id",
        [DIMENSIONS],
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def add_document(conn: Conn, into: int, document: Document) -> tuple[int, list[int]]:
    """The document and its sources, which say nothing yet."""
    await conn.execute("insert into kg.blobs (hash, data) values (%s, '') on conflict do nothing", [document.hash])
    cursor = await conn.execute(
        "insert into kg.documents (ontology_id, hash, name, media_type, size) values (%s, %s, %s, 'text/plain', 1) returning id",
        [into, document.hash, document.name],
    )
    row = await cursor.fetchone()
    assert row is not None
    async with conn.transaction():
        placed = await writing.replace_sources(conn, row[0], texts(document), vectors={}, space=0)
    return int(row[0]), [one.id for one in placed]


def vectors(*extractions: Extraction) -> dict[bytes, Vector]:
    """Of everything that could lead: for tests that do not ask before."""
    found = [meaning(one.rank, one.label, one.description) for each in extractions for one in said(each).mentions]
    return {one.rank: vector(one.text) for one in found}


_numbers = itertools.count()


class Library:
    """An ontology that documents come to and go from, written by one connection."""

    def __init__(self, work: Lanework, conn: Conn, id: int, words: int) -> None:
        self.work, self.conn, self.id, self.space, self.embed = work, conn, id, words, Words()
        self.there: dict[Document, tuple[int, list[int]]] = {}

    async def add(self, document: Document) -> list[int]:
        if document not in self.there:
            self.there[document] = await add_document(self.conn, self.id, document)
        return self.there[document][1]

    async def store(self, document: Document, at: int) -> None:
        source, answer = (await self.add(document))[at], document.chunks[at]

        async def act(vectors: writing.Vectors) -> None:
            async with self.conn.transaction():
                await writing.store_chunk(self.conn, self.id, source, answer, vectors=vectors, space=self.space)

        await writing.with_vectors(self.embed, await writing.prepare_chunk(self.work, self.id, self.space, answer), act)

    async def remove(self, document: Document) -> None:
        if document not in self.there:
            return
        id, _ = self.there.pop(document)

        async def act(vectors: writing.Vectors) -> None:
            async with self.conn.transaction():
                await writing.remove_document(self.conn, id, vectors=vectors, space=self.space)

        await writing.with_vectors(self.embed, await writing.prepare_removal(self.work, id, self.space), act)


async def library(work: Lanework, conn: Conn) -> Library:
    return Library(work, conn, await ontology(conn, f"library {next(_numbers)}"), await space(conn))


def make_platform(dsn: str) -> None:
    work = Lanework(dsn)
    prepare(work)
    work.close()


async def dump(conn: Conn, of: int) -> dict[str, Any]:
    """All that a graph says, without ids and epochs."""
    return {name: sorted(await (await conn.execute(query, {"o": of})).fetchall(), key=repr) for name, query in PARTS.items()}


PARTS: Mapping[str, Any] = {
    "concepts": """select array_agg(n.form order by n.form), c.label, c.type, c.description, c.search_terms, c.seen_count, c.words::text,
            c.embedding::text, c.space from kg.concepts c left join kg.names n on n.concept_id = c.id where c.ontology_id = %(o)s group by c.id""",
    "names": """select n.form, n.label, n.type, n.context, n.seen, n.concept_id is null, k.keys, v.embedding::text, k.sketch::text, k.corners is null, k.space
            from kg.names n left join kg.marks k on k.name_id = n.id left join kg.meanings v on v.name_id = n.id where n.ontology_id = %(o)s""",
    "labels": "select n.form, l.label, l.mentions from kg.labels l join kg.names n on n.id = l.name_id where n.ontology_id = %(o)s",
    "terms": "select n.form, t.term, t.form, t.mentions from kg.terms t join kg.names n on n.id = t.name_id where n.ontology_id = %(o)s",
    "mentions": """select n.form, d.hash, s.hash, m.label, m.type, m.description, m.search_terms from kg.mentions m join kg.names n on n.id = m.name_id
            join kg.sources s on s.id = m.source_id join kg.documents d on d.id = s.document_id where n.ontology_id = %(o)s""",
    "instances": """select n.form, d.hash, s.hash, i.start, i.finish, i.quote from kg.instances i join kg.names n on n.id = i.name_id
            join kg.sources s on s.id = i.source_id join kg.documents d on d.id = s.document_id where n.ontology_id = %(o)s""",
    "relations": """select (select array_agg(form order by form) from kg.names where concept_id = r.from_id),
            (select array_agg(form order by form) from kg.names where concept_id = r.to_id), r.type, r.tier, r.direction, r.confidence, r.evidence,
            (select array_agg(encode(s.hash, 'hex') order by s.hash) from kg.relation_evidence e join kg.sources s on s.id = e.source_id
             where e.relation_id = r.id) from kg.relations r where r.ontology_id = %(o)s""",
    "likes": """select least(a.form, b.form), greatest(a.form, b.form), l.outcome, l.score from kg.likes l join kg.names a on a.id = l.one
            join kg.names b on b.id = l.other where l.ontology_id = %(o)s""",
    "proposals": """select least(a.form, b.form), greatest(a.form, b.form) from kg.proposals l join kg.names a on a.id = l.one
            join kg.names b on b.id = l.other where l.ontology_id = %(o)s""",
    "usages": """select c.type, count(*) from kg.claims c join kg.names n on n.id = c.from_name where n.ontology_id = %(o)s group by 1""",
}


Body = Callable[[Conn, Library, Library], Awaitable[Any]]


def with_two(platform: str, body: Body) -> None:
    """Runs it with a connection and two empty ontologies."""

    async def connected() -> None:
        work = Lanework(platform)
        async with await psycopg.AsyncConnection.connect(platform, autocommit=True) as conn:
            try:
                await body(conn, await library(work, conn), await library(work, conn))
            finally:
                await work.aclose()

    asyncio.run(connected())
