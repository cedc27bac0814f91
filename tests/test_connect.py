"""Connections that are broken off before they are made."""

from __future__ import annotations

import asyncio
import gc
import socket

from lanework._store.connect import aconnect
from lanework.config import Settings


def test_what_is_broken_off_half_way_is_closed_although_its_task_is_kept() -> None:
    """A server waits a minute for the rest, and whoever drops a database waits for that server process."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.setblocking(False)
            dsn = f"host=127.0.0.1 port={server.getsockname()[1]} user=x sslmode=disable gssencmode=disable"
            task = asyncio.create_task(aconnect(dsn, Settings(), "test"))
            peer, _ = await loop.sock_accept(server)
            with peer:
                assert await loop.sock_recv(peer, 1000)
                task.cancel()
                await asyncio.wait([task])
                async with asyncio.timeout(90):
                    assert await loop.sock_recv(peer, 1000) == b""
            assert task.cancelled()

    gc.disable()  # a collection would close it, some time
    try:
        asyncio.run(main())
    finally:
        gc.enable()
