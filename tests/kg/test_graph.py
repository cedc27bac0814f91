"""From chunks to concepts and relations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest

from kg._store.schema import prepare
from kg.graph import writing
from lanework import Lanework
from tests.kg.graphs import Conn, Document, add_document, dump, extraction, ontology, space, vectors


@pytest.fixture
def graph(database: str) -> Iterator[Callable[[Callable[[Conn], Awaitable[Any]]], Any]]:
    """Runs a coroutine function with a connection to a database that has the platform's schema."""
    prepare(Lanework(database))

    def run(body: Callable[[Conn], Awaitable[Any]]) -> Any:
        async def connected() -> Any:
            async with await psycopg.AsyncConnection.connect(database, autocommit=True) as conn:
                return await body(conn)

        return asyncio.run(connected())

    yield run


ONE = extraction(
    [("World Health Organization", "organization", "looks after health", ("WHO",)), ("Geneva", "place", "a city", ())],
    [(0, 1, "located in", 0.8)],
)
TWO = extraction([("WHO", "organization", "", ()), ("Geneva", "place", "a city by a lake", ())], [(0, 1, "LOCATED_IN", 0.5)])


def test_smoke(graph: Any) -> None:
    async def body(conn: Conn) -> None:
        where, words = await ontology(conn, "one"), await space(conn)
        first, sources = await add_document(conn, where, Document("a", (ONE, TWO)))
        for source, one in zip(sources, (ONE, TWO), strict=True):
            async with conn.transaction():
                print(await writing.store_chunk(conn, where, source, one, vectors=vectors(ONE, TWO), space=words))
        for k, v in (await dump(conn, where)).items():
            print(k)
            for row in v:
                print("   ", str(row)[:300])
        async with conn.transaction():
            print(await writing.remove_document(conn, first, vectors={}, space=words))
        print(await dump(conn, where))

    graph(body)
