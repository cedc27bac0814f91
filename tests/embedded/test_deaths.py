"""The embedded server is in order again after every kind of death."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from lanework._embedded import account, logs
from lanework._embedded.home import Home
from lanework.embedded import acquire
from lanework.errors import EmbeddedError
from tests.embedded.holders import ask, pid_file, server_pid, stopped

pytestmark = pytest.mark.processes


def test_a_crashed_server_is_started_again_with_its_data(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        ask(lease, "create table kept as select 7 as value")
        os.kill(server_pid(data_folder), signal.SIGKILL)
        lease.ensure()
        assert ask(lease, "select value from kept") == 7
    assert stopped(data_folder)
    with pytest.raises(EmbeddedError, match="was released"):
        lease.ensure()


@contextmanager
def stranger(folder: Path) -> Iterator[int]:
    """A living process that has nothing to do with us, of the account the server runs as."""
    server = account.for_data(folder / "postgres/data")
    who = {"user": server.uid, "group": server.gid} if server.borrowed else {}
    process = subprocess.Popen(["sleep", "600"], cwd="/", **who)  # type: ignore[call-overload]
    try:
        yield process.pid
        assert process.poll() is None, "the stranger was hit"
    finally:
        process.kill()
        process.wait()


def test_a_left_over_pid_that_a_stranger_has_now(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        ask(lease, "create table kept as select 7 as value")
        left_over = pid_file(data_folder).read_text().splitlines()
        sockets = data_folder / "postgres/run"
        os.kill(int(left_over[0]), signal.SIGKILL)
        wait_until_stopped(data_folder)
        with stranger(data_folder) as pid:
            pid_file(data_folder).write_text("\n".join([str(pid), *left_over[1:], ""]))
            (sockets / ".s.PGSQL.5432.lock").write_text(f"{pid}\n")
            lease.ensure()
            assert ask(lease, "select value from kept") == 7
            os.kill(server_pid(data_folder), signal.SIGKILL)
            wait_until_stopped(data_folder)
            pid_file(data_folder).write_text("\n".join([str(pid), *left_over[1:], ""]))
            lease.release()


def wait_until_stopped(folder: Path) -> None:
    patience = logs.Patience(Home.open(folder.resolve()), quiet=30)
    while not stopped(folder):
        patience.wait("the server to vanish")


@pytest.mark.parametrize("rubbish", ["", "\n", "x\ny\n"])
def test_a_torn_pid_file(data_folder: Path, rubbish: str) -> None:
    acquire(data_folder).release()
    pid_file(data_folder).write_text(rubbish)
    with acquire(data_folder) as lease:
        assert ask(lease, "select 1") == 1


def test_a_server_started_past_our_locks_is_not_joined_by_a_second(data_folder: Path) -> None:
    """PostgreSQL's own interlock must hold even when all of our files are gone."""
    with acquire(data_folder) as lease:
        pid, lock = server_pid(data_folder), data_folder / "postgres/server.lock"
        lock.rename(lock.with_suffix(".aside"))
        for socket in (data_folder / "postgres/run").iterdir():
            socket.unlink()
        with pytest.raises(EmbeddedError, match="is still in use"):
            lease.ensure()
        lock.with_suffix(".aside").rename(lock)
        os.kill(pid, signal.SIGINT)
        wait_until_stopped(data_folder)


def test_a_half_finished_creation_is_begun_anew(fresh_folder: Path) -> None:
    home = Home.open(fresh_folder.resolve())
    (home.root / "data.new/base").mkdir(parents=True)
    (home.root / "data.new/PG_VERSION").write_text("18\n")
    home.passfile.write_text("*:*:*:*:of a server that never was\n")
    with acquire(fresh_folder) as lease:
        assert ask(lease, "select 1") == 1
    assert not (home.root / "data.new").exists()


def test_a_lost_password_is_replaced(data_folder: Path) -> None:
    acquire(data_folder).release()
    (data_folder / "postgres/passfile").unlink()
    with acquire(data_folder) as lease:
        assert ask(lease, "select 1") == 1


def test_a_wrong_password_is_explained(data_folder: Path) -> None:
    acquire(data_folder).release()
    (data_folder / "postgres/passfile").write_text("*:*:*:*:wrong\n")
    with pytest.raises(EmbeddedError, match="delete the passfile"):
        acquire(data_folder)
    assert stopped(data_folder)


def test_a_dropped_database_is_made_again(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        with psycopg.connect(lease.dsn.replace("/lanework?", "/postgres?"), autocommit=True) as connection:
            connection.execute("drop database lanework")
        with acquire(data_folder) as second:
            assert ask(second, "select current_database()") == "lanework"
