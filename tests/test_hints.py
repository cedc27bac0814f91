"""What a worker hears from the server, and what it says to its guard, and when."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import psycopg
import pytest

from lanework._guard.link import GuardLink
from lanework._store.hints import hear, listen
from lanework.config import Settings

NOTIFY = "select pg_notify('lanework', %s)"


@pytest.mark.parametrize("why", ["killed", "its reader fails"])
def test_every_hint_is_heard_until_the_connection_ends(database: str, why: str) -> None:
    # Red with a reader that takes one hint of those that come together, and with one that does not say that its end has come.
    async def main() -> None:
        heard: list[str] = []
        conn = await listen(database, Settings(), "test")
        assert conn is not None
        async with conn, await psycopg.AsyncConnection.connect(database, autocommit=True) as db:

            def on_hint(hint: str) -> None:
                if hint == "odd":
                    raise ValueError(hint)
                heard.append(hint)

            await db.execute(NOTIFY, ["before"])
            ears = asyncio.create_task(hear(conn, on_hint))
            async with db.transaction():
                for hint in ("a", "<ö", "%b", "last"):
                    await db.execute(NOTIFY, [hint])
            async with asyncio.timeout(60):
                while "last" not in heard:
                    await asyncio.sleep(0.01)
                assert heard == ["before", "a", "<ö", "%b", "last"]
                if why == "killed":
                    await db.execute("select pg_terminate_backend(%s)", [conn.info.backend_pid])
                else:
                    await db.execute(NOTIFY, ["odd"])
                with pytest.raises(psycopg.OperationalError if why == "killed" else ValueError):
                    await ears

    asyncio.run(main())


def test_who_stops_to_listen_leaves_nothing_behind(database: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        conn = await listen(database, Settings(), "test")
        assert conn is not None
        async with conn:
            ears = asyncio.create_task(hear(conn, lambda hint: None))
            await asyncio.sleep(0)
            ears.cancel()
            await asyncio.wait([ears])
            assert ears.cancelled() and not loop.remove_reader(conn.fileno())

    asyncio.run(main())


def link_to(ours: socket.socket) -> GuardLink:
    def nothing(*_: Any) -> None:
        return None

    link = GuardLink("", Settings(), embedded=None, on_stop=nothing, on_fence=nothing, on_retired=nothing, on_drain=nothing)
    ours.setblocking(False)
    link._sock = ours
    return link


def test_the_guard_hears_of_claims_when_they_are_on_their_way_and_in_their_order() -> None:
    # Red with a word that is sent at once (the guard wakes up before the server), and with one that overtakes another: the guard
    # would know of claim 2 and not of claim 1, and the next beat would give the jobs of claim 1 back.
    async def main() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            theirs.setblocking(False)
            link = link_to(ours)
            assert [link.open_claim(), link.open_claim()] == [1, 2]
            with pytest.raises(BlockingIOError):
                theirs.recv(100)
            await asyncio.sleep(0)
            assert theirs.recv(100) == b"o 1\no 2\n"
            link.close_claim(1)
            link.open_claim()
            link.beat_now()  # one that does not wait takes the others with it
            assert theirs.recv(100) == b"c 1\no 3\nn \n"
            await asyncio.sleep(0)
            with pytest.raises(BlockingIOError):
                theirs.recv(100)
            link.open_claim()
            link._sock = None  # the guard is gone; the next one is told of all that is open
            await asyncio.sleep(0)
            assert (link.open, link.told) == ({2, 3, 4}, 4)

    asyncio.run(main())
