"""Writing a graph: chunks into an ontology that is empty and into one that is large, in turns; then a large document goes again."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import statistics
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import psycopg

from kg._store.schema import prepare
from kg.bench import synthetic
from kg.bench.context import Bench
from kg.bench.rows.graph import Told
from kg.bench.writable import make_writable
from kg.graph.growth import Growth
from kg.parts import Concept, Extraction, Instance, Relationship
from lanework import Lanework
from lanework.bench.home import say
from lanework.bench.report import Limit, Line, Section

#: What a chunk says: names that are new, names that are known, relations between them.
NEW, KNOWN, RELATIONS = 14, 6, 15
WARM = 10
_SOURCE = (
    "insert into kg.sources (document_id, hash, ordinal, start, own, finish, text) values (%s, %s, %s, 0, 0, 1, 'x') returning id"
)


@dataclass
class Place:
    """An ontology to write to, in a database of its own, and what it took."""

    dsn: str
    ontology: int
    space: int
    labels: list[str]
    document: int = 0
    stored: list[float] = field(default_factory=list)
    locked: list[float] = field(default_factory=list)
    numbers: Any = field(default_factory=itertools.count)


def measure(bench: Bench) -> list[Section]:
    size = synthetic.Size(concepts=bench.sizes.names, relations=bench.sizes.names)
    with bench.server.fresh() as large_dsn, bench.server.fresh() as empty_dsn:
        say(f"loading {size.concepts:,} names")
        large, empty = _loaded(large_dsn, size), _loaded(empty_dsn, None)
        asyncio.run(_store(bench, empty, large))
        longest, whole = asyncio.run(_delete(large, bench.sizes.chunks))
    return [Section(f"Chunks of {NEW + KNOWN} names and {RELATIONS} relations into a graph", [
        Line("chunks a second, empty ontology", "writes_empty_per_s", 1 / statistics.median(empty.stored)),
        Line(f"chunks a second, ontology of {size.concepts:,} names", "writes_large_per_s", 1 / statistics.median(large.stored)),
        Line("  of the lock of an ontology: the large one beside the empty one", "writes_locked_ms",
             1000 * statistics.median(large.locked), "ms", ratio=statistics.median(large.locked) / statistics.median(empty.locked),
             ratio_key="writes_ratio", limit=Limit("≤", 3.0)),
        Line(f"a document of {bench.sizes.chunks} chunks goes", "delete_s", whole, "s"),
        Line("  the longest that others waited for the lock meanwhile", "delete_wait_s", longest, "s", limit=Limit("≤", 2.0)),
    ])]  # fmt: skip


def _loaded(dsn: str, size: synthetic.Size | None) -> Place:
    with Lanework(dsn) as work:
        prepare(work)
    with psycopg.connect(dsn, autocommit=True) as db:
        if size is not None:
            made = synthetic.load(db, size)
            ontology, space = make_writable(db, made)
            rows = db.execute("select label from kg.names where ontology_id = %s order by id limit 5000", [ontology]).fetchall()
            place = Place(dsn, ontology, space, [label for (label,) in rows])
        else:
            (space,) = db.execute("select kg.use_space(%s, %s)", [synthetic.MODEL, synthetic.Size.dimensions]).fetchall()[0]
            (ontology,) = db.execute("insert into kg.ontologies (name) values ('empty') returning id").fetchall()[0]
            place = Place(dsn, ontology, space, [])
        db.execute("insert into kg.blobs (hash, data) values (sha256('written'), '')")
        (place.document,) = db.execute(
            "insert into kg.documents (ontology_id, hash, name, media_type, size)"
            " values (%s, sha256('written'), 'written', 'text/plain', 1) returning id", [ontology],
        ).fetchall()[0]  # fmt: skip
    return place


def _chunk(place: Place, number: int) -> Extraction:
    chance = np.random.default_rng(number)
    words = [synthetic.word(int(one)) for one in chance.integers(20, 20_000, NEW)]
    labels = [f"{word.title()} Of {synthetic.word(number + 20).title()}" for word in words]
    known = [place.labels[at] for at in chance.integers(0, len(place.labels), KNOWN)] if place.labels else []
    concepts = [Concept(f"c{at}", label, "") for at, label in enumerate([*labels, *known])]
    place.labels += labels if len(place.labels) < 5000 else []
    ends = chance.integers(0, len(concepts), (RELATIONS, 2)).tolist()
    return Extraction(
        tuple(concepts), tuple(Instance(one.key, one.label, 3 * at) for at, one in enumerate(concepts)),
        tuple(Relationship(f"c{a}", f"c{b}", "uses", 0.7) for a, b in ends),
    )  # fmt: skip


async def _store(bench: Bench, *places: Place) -> None:
    """In turns: what else goes on on this machine happens to both."""
    works = [Lanework(place.dsn) for place in places]
    conns = [await psycopg.AsyncConnection.connect(place.dsn, autocommit=True, prepare_threshold=2) for place in places]
    for _ in range(bench.sizes.chunks + WARM):
        for place, work, conn in zip(places, works, conns, strict=True):
            await _one(place, work, conn)
    for place, work, conn in zip(places, works, conns, strict=True):
        del place.stored[:WARM], place.locked[:WARM]
        await conn.close()
        await work.aclose()


async def _one(place: Place, work: Lanework, conn: psycopg.AsyncConnection[Any]) -> None:
    number = next(place.numbers)
    extraction, growth = _chunk(place, number), Growth(work)
    hash = hashlib.sha256(str(number).encode()).digest()
    source = await (await conn.execute(_SOURCE, [place.document, hash, number])).fetchone()
    assert source is not None
    embed = Told({}, synthetic.Size.dimensions)

    async def act(vectors: Any) -> None:
        began = time.perf_counter()
        async with conn.transaction():
            await growth.store(conn, place.ontology, source[0], extraction, vectors, place.space)
        place.locked.append(time.perf_counter() - began)

    began = time.perf_counter()
    await growth.storing(embed, place.ontology, place.space, extraction, act)
    place.stored.append(time.perf_counter() - began)


async def _delete(place: Place, chunks: int) -> tuple[float, float]:
    """The longest that somebody who wants the lock now and then had to wait, and how long it took in all. In seconds."""
    async with Lanework(place.dsn) as work:
        growth, embed = Growth(work), Told({}, synthetic.Size.dimensions)
        async with await psycopg.AsyncConnection.connect(place.dsn, autocommit=True) as conn:
            rows = await (await conn.execute("select id from kg.sources where document_id = %s", [place.document])).fetchall()
            act = partial(_drop, conn, growth, place, [id for (id,) in rows])
            began = time.perf_counter()
            going = asyncio.create_task(growth.dropping(embed, place.space, [id for (id,) in rows], act))
            longest = await _waits(place, going)
            await going
        return longest, time.perf_counter() - began


async def _drop(conn: psycopg.AsyncConnection[Any], growth: Growth, place: Place, sources: list[int], vectors: Any) -> None:
    async with conn.transaction():
        await growth.drop(conn, place.ontology, sources, vectors, place.space)
        await conn.execute("delete from kg.documents where id = %s", [place.document])


async def _waits(place: Place, going: asyncio.Task[Any]) -> float:
    longest = 0.0
    async with await psycopg.AsyncConnection.connect(place.dsn, autocommit=True) as other:
        while not going.done():
            began = time.perf_counter()
            await other.execute("select pg_advisory_xact_lock(hashtextextended('kg.ontology', %s))", [place.ontology])
            longest = max(longest, time.perf_counter() - began)
            await asyncio.sleep(0.005)
    return longest
