"""Streams outlive the database, and end with the server."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kg._store.schema import prepare
from kg.access.access import Access
from lanework.api import streams
from lanework.bench import sse
from tests.kg.live.following import PATIENCE, not_reading, rest, served_submit, take, tell
from tests.kg.served import make_work, serve
from tests.pace import bound
from tests.servers import PrivateServer


def test_streams_outlive_the_database(private_server: Callable[..., PrivateServer]) -> None:
    server = private_server(durable=True)
    with serve(server.dsn, connect_timeout=1.0) as served:

        async def main() -> None:
            job = await served_submit(served)
            one, everything = await served.follow("operator", f"/jobs/{job}/stream"), await served.follow("operator", "/events")
            await take(one, 1)
            await asyncio.to_thread(server.stop)
            await asyncio.sleep(2)
            await asyncio.to_thread(server.start)
            await asyncio.to_thread(tell, server.dsn, 1)
            async with asyncio.timeout(PATIENCE):
                while (await anext(everything)).kind != "told":
                    pass
            await asyncio.to_thread(served.work.cancel, job)
            assert (await rest(one))[-1].kind == "cancelled"

        served.run(main())


def test_sigterm_ends_streams_and_server_within_a_second(database: str) -> None:
    """Those of clients that do not read, too."""

    async def main() -> None:
        work = make_work(database)
        await asyncio.to_thread(prepare, work)
        access = Access(work)
        await access.add_user("op", None, ["operator"], by="test")
        token = (await access.create_token("op", "test", by="test")).secret
        with process(database) as (server, port):
            open_ones = [await sse.follow(port, "/events", token=token) for _ in range(10)]
            with not_reading(port, token):
                await asyncio.sleep(0.5)
                tell(database, 100, 40_000)
                for stream in open_ones:
                    while (await take(stream, 1))[0].data["data"].get("n") != 100:
                        pass
                start = time.monotonic()
                server.terminate()
                for stream in open_ones:
                    assert (await rest(stream))[-1].data == streams.STOPPING
                    assert not stream.cut
                ended = time.monotonic() - start
                await asyncio.to_thread(server.wait, PATIENCE)
                assert ended < bound(2 * 1.0) and time.monotonic() - start < bound(2 * 1.0)
        await work.aclose()

    asyncio.run(main())


@contextmanager
def process(dsn: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(2048)
        server = subprocess.Popen(
            [sys.executable, "-m", "kg.serving", str(listening.fileno())], pass_fds=[listening.fileno()],
            env={**os.environ, "KG_DSN": dsn},
        )  # fmt: skip
        port = listening.getsockname()[1]
    try:
        yield server, port
    finally:
        server.kill()
        server.wait()
