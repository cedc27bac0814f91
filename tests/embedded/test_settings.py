"""Settings and logs of the embedded server; servers that lose commits are refused."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from lanework import embedded
from lanework._embedded import logs
from lanework._embedded.home import Home
from lanework.embedded import acquire
from lanework.errors import EmbeddedError, UnsafeDatabase
from tests.embedded.holders import ask, show
from tests.servers import PrivateServer

pytestmark = pytest.mark.processes


def test_the_settings(fresh_folder: Path) -> None:
    expected = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "max_connections": "200"}
    expected |= {
        "autovacuum_naptime": "10s",
        "server_encoding": "UTF8",
        "data_checksums": "on",
        "log_filename": "server-%a.log",
    }
    with acquire(fresh_folder) as lease:
        assert {name: show(lease, name) for name in expected} == expected
        with psycopg.connect(lease.dsn) as connection:
            embedded.check_durability(connection)
            connection.execute("create extension vector")
            assert connection.execute("select '[1,2]'::vector <-> '[1,2]'::vector").fetchone() == (0.0,)


def test_a_server_that_loses_commits_is_refused(pg18: PrivateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWORK_ALLOW_UNSAFE")
    with psycopg.connect(pg18.dsn) as connection:
        with pytest.raises(UnsafeDatabase, match=r"fsync and synchronous_commit = off.*LANEWORK_ALLOW_UNSAFE=1"):
            embedded.check_durability(connection)
        connection.execute("set synchronous_commit = on")
        with pytest.raises(UnsafeDatabase, match="with fsync = off"):
            embedded.check_durability(connection)


def test_who_accepts_the_loss_is_warned(pg18: PrivateServer, caplog: pytest.LogCaptureFixture) -> None:
    with psycopg.connect(pg18.dsn) as connection:
        embedded.check_durability(connection)
    assert "a crash can lose jobs that were committed" in caplog.text
    assert {record.name for record in caplog.records} == {"lanework"}


async def _acheck(dsn: str) -> None:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await embedded.acheck_durability(connection)


def test_the_async_twin_refuses_too(pg18: PrivateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWORK_ALLOW_UNSAFE")
    with pytest.raises(UnsafeDatabase, match="fsync"):
        asyncio.run(_acheck(pg18.dsn))


def test_a_durable_server_survives_a_kill(private_server: Callable[..., PrivateServer]) -> None:
    server = private_server(durable=True, tcp=True)
    with psycopg.connect(server.dsn) as connection:
        embedded.check_durability(connection)
        connection.execute("create table kept as select 7 as value")
    for end in (server.kill, lambda: server.stop("immediate"), server.stop):
        end()
        assert not server.running
        server.start()
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("select value from kept").fetchone() == (7,)


def test_what_alter_system_says_is_kept(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        ask(lease, "alter system set max_connections = 77")
    with acquire(data_folder) as lease:
        assert show(lease, "max_connections") == "77"


def test_old_and_big_logs_are_removed(data_folder: Path) -> None:
    acquire(data_folder).release()
    old, big, fresh = (data_folder / "postgres/log" / f"server-{day}.log" for day in ("old", "big", "fresh"))
    for log in (old, big, fresh):
        log.touch()
    os.utime(old, (1, 1))
    os.truncate(big, 11_000_000)
    acquire(data_folder).release()
    assert [log.exists() for log in (old, big, fresh)] == [False, False, True]


def test_patience_lasts_as_long_as_the_log_moves(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    home = Home.open(fresh_folder.resolve())
    patience = logs.Patience(home, quiet=60)
    for minute in range(30):
        now[0] += 59
        with home.start_log.open("a") as log:
            log.write(f"redo in progress, elapsed time: {minute} min\n")
        patience.wait("recovery")
    now[0] += 61
    with pytest.raises(EmbeddedError, match=r"waited 60 s for recovery(?s:.*)elapsed time: 29 min"):
        patience.wait("recovery")
