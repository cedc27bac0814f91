"""What a worker hears from the server."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

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
