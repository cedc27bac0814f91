"""Streams as tests follow them, and what they are told."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import psycopg.types.json

from lanework.bench import sse
from tests.kg.served import Served

PATIENCE = 60.0


async def until(done: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():
            await asyncio.sleep(0.02)


async def take(stream: sse.Stream, count: int) -> list[sse.Message]:
    async with asyncio.timeout(PATIENCE):
        return [await anext(stream) for _ in range(count)]


async def rest(stream: sse.Stream) -> list[sse.Message]:
    async with asyncio.timeout(PATIENCE):
        return [message async for message in stream]


def tell(database: str, count: int, size: int = 0) -> None:
    with psycopg.connect(database, autocommit=True) as db:
        db.execute(
            "select lanework.tell('test', 'told', null, jsonb_build_object('n', n, 'pad', repeat('x', %s)))"
            " from generate_series(1, %s) n",
            [size, count],
        )
        db.execute("select lanework.hint_events()")


async def check_resume(served: Served, path: str) -> None:
    """Ten events whose order is not that of their ids; after each of them, those that follow, no more and no less."""
    told = await take(await served.follow("operator", path, "0-0"), 10)
    ids = [int(one.id.split("-")[1]) for one in told]
    assert ids != sorted(ids) and len(set(ids)) == 10
    for place, one in enumerate(told[:-1]):
        stream = await served.follow("operator", path, one.id)
        assert [later.id for later in await take(stream, 9 - place)] == [later.id for later in told[place + 1 :]]
        stream.close()


async def served_submit(served: Served, owner: str = "operator", **options: Any) -> int:
    handle = await asyncio.to_thread(served.work.submit_json, "speak", {}, owner=owner, **options)
    return handle.id


@contextmanager
def not_reading(port: int, token: str) -> Iterator[None]:
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(f"GET /events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        yield
