"""Promise 21 with a crowd: eight writers whose connections are cut, and documents that are deleted while others come."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import psycopg
import pytest

from kg.errors import SourceGone
from kg.graph import writing
from lanework import Lanework
from lanework.errors import DatabaseUnavailable
from tests.kg.graphs import Conn, Document, Library, Words, add_document, dump, extraction, library

LABELS = [
    "World Health Organization", "WHO", "Mortal Kombat", "Mortal Kombat II", "Graph Database", "graph data base", "John Smith",
    "J. Smith", "Taito", "Taito Corporation", "Geneva", "Vietnam", "Spurs", "San Antonio Spurs",
]  # fmt: skip
WRITERS, CUTS = 8, 10


def _documents(count: int, seed: int) -> list[Document]:
    chance = random.Random(seed)

    def chunk() -> Any:
        concepts = [
            (label, "", chance.choice(("", "a", "b", "c")), ("WHO",) if "World" in label else ())
            for label in chance.sample(LABELS, 5)
        ]
        return extraction(concepts, [(chance.randrange(5), chance.randrange(5), "uses", 0.5) for _ in range(4)])

    return [Document(f"document {at}", (chunk(), chunk())) for at in range(count)]


class Crowd:
    """Writers share a list of things to do. Each has a connection of its own, which may be cut at any moment: then it does the same
    again on a new one. Nothing else may go wrong: a deadlock is an error."""

    def __init__(self, dsn: str, here: Library, todo: list[Any]) -> None:
        self.dsn, self.here, self.todo, self.cuts = dsn, here, todo, 0
        self.backends: dict[int, int] = {}
        self.doing: dict[int, Any] = {}
        self.progress = asyncio.Event()

    async def run(self, cuts: int) -> None:
        async with asyncio.TaskGroup() as group:
            cutting = group.create_task(self._cut(cuts))
            writers = [group.create_task(self._write(number)) for number in range(WRITERS)]
            await asyncio.gather(*writers)
            cutting.cancel()

    async def _write(self, number: int) -> None:
        while self.todo or number in self.doing:
            try:
                async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as conn:
                    self.backends[number] = conn.info.backend_pid
                    await self._work_off(conn, number)
            except (DatabaseUnavailable, psycopg.OperationalError) as error:
                if isinstance(error, psycopg.errors.DeadlockDetected):
                    raise
            finally:
                self.backends.pop(number, None)

    async def _work_off(self, conn: Conn, number: int) -> None:
        while self.todo or number in self.doing:
            if number not in self.doing:
                self.doing[number] = self.todo.pop()
            await self.doing[number](conn)
            del self.doing[number]  # not before it is done: who is cut off does it again
            self.progress.set()

    async def _cut(self, most: int) -> None:
        chance = random.Random(7)
        async with await psycopg.AsyncConnection.connect(self.dsn, autocommit=True) as conn:
            while self.cuts < most:
                await self.progress.wait()
                self.progress.clear()
                if self.backends:
                    await conn.execute("select pg_terminate_backend(%s)", [chance.choice(list(self.backends.values()))])
                    self.cuts += 1


def _storing(here: Library, source: int, answer: Any) -> Any:
    async def act(conn: Conn) -> None:
        async def once(vectors: writing.Vectors) -> None:
            async with conn.transaction():
                await writing.store_chunk(conn, here.id, source, answer, vectors=vectors, space=here.space)

        try:
            await writing.with_vectors(Words(), await writing.prepare_chunk(here.work, here.id, here.space, answer), once)
        except SourceGone:
            return  # somebody deleted its document

    return act


def _removing(here: Library, document: int) -> Any:
    async def act(conn: Conn) -> None:
        async def once(vectors: writing.Vectors) -> None:
            async with conn.transaction():
                await writing.remove_document(conn, document, vectors=vectors, space=here.space)

        await writing.with_vectors(Words(), await writing.prepare_removal(here.work, document, here.space), once)

    return act


async def _crowded(dsn: str, *, seed: int, deletes: bool, cuts: int = CUTS) -> None:
    async with Lanework(dsn) as work, await psycopg.AsyncConnection.connect(dsn, autocommit=True) as conn:
        here, serial = await library(work, conn), await library(work, conn)
        written, todo = _documents(8, seed), []
        for at, document in enumerate(written):
            id, sources = await add_document(conn, here.id, document)
            todo += [_storing(here, source, answer) for source, answer in zip(sources, document.chunks, strict=True)] * (1 + at % 2)
            if deletes and at % 2:
                todo.append(_removing(here, id))
        random.Random(seed).shuffle(todo)
        await Crowd(dsn, here, todo).run(cuts)
        for at, document in enumerate(written):
            for chunk in range(len(document.chunks) if not (deletes and at % 2) else 0):
                await serial.store(document, chunk)
        one, other = await dump(conn, here.id), await dump(conn, serial.id)
        for part in one:
            assert one[part] == other[part], part


@pytest.mark.parametrize("deletes", [False, True], ids=["stores", "deletes meanwhile"])
def test_eight_writers_that_are_cut_off_give_the_serial_graph(platform: str, deletes: bool) -> None:
    asyncio.run(_crowded(platform, seed=1, deletes=deletes))


@pytest.mark.chaos
@pytest.mark.parametrize("seed", range(20))
def test_many_crowds(platform: str, seed: int) -> None:
    asyncio.run(_crowded(platform, seed=seed, deletes=seed % 2 == 0, cuts=40))


LOCK = "pg_advisory_xact_lock(hashtextextended('kg.ontology', p_ontology))"


@pytest.mark.chaos
def test_the_crowd_notices_that_nobody_holds_the_lock(platform: str) -> None:
    with psycopg.connect(platform) as conn:
        (say,) = conn.execute("select pg_get_functiondef('kg.say'::regproc)").fetchone() or ("",)
        assert LOCK in say
        conn.execute(say.replace(LOCK, "1"))

    async def until_red() -> None:
        for seed in range(20):
            await _crowded(platform, seed=seed, deletes=False, cuts=0)

    with pytest.raises((AssertionError, ExceptionGroup)):
        asyncio.run(until_red())
