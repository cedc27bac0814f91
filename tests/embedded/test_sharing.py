"""The embedded server is shared by its users and stopped by the last."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from lanework.embedded import acquire
from tests.embedded.holders import Holder, ask, pid_file, server_pid, stopped

pytestmark = pytest.mark.processes


def test_the_last_to_leave_stops_the_server(data_folder: Path, hold: Callable[..., Holder]) -> None:
    with acquire(data_folder) as first:
        pid = server_pid(data_folder)
        other = hold().holds()
        with acquire(data_folder) as second:
            assert server_pid(data_folder) == pid
            assert first.dsn == second.dsn
        assert ask(first, "select 1") == 1
    assert not stopped(data_folder)
    other.leave()
    assert stopped(data_folder)
    assert not pid_file(data_folder).exists()


def test_data_is_there_after_a_stop(data_folder: Path) -> None:
    with acquire(data_folder) as lease, psycopg.connect(lease.dsn) as connection:
        connection.execute("create table kept as select 7 as value")
    with acquire(data_folder) as lease:
        assert ask(lease, "select value from kept") == 7


def test_a_user_killed_with_9_has_left(data_folder: Path, hold: Callable[..., Holder]) -> None:
    killed = hold().holds()
    with acquire(data_folder) as lease:
        killed.kill()
        assert ask(lease, "select 1") == 1
    assert stopped(data_folder)


def test_children_of_a_killed_user_hold_nothing(data_folder: Path, hold: Callable[..., Holder]) -> None:
    fork = "end, start = os.pipe()\nif os.fork() == 0: os.write(start, b'!'); sys.stdin.read(); os._exit(0)\n"
    spawn = "import subprocess; subprocess.Popen(['sleep', '60'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)"
    killed = hold(f"{spawn}\n{fork}os.read(end, 1)").holds()
    with acquire(data_folder):
        killed.kill()
    assert stopped(data_folder)
    os.killpg(killed.process.pid, signal.SIGKILL)


def test_a_forked_child_does_not_end_its_parents_lease(data_folder: Path, hold: Callable[..., Holder]) -> None:
    parent = hold("pid = os.fork()\nif pid == 0: lease.release(); sys.exit(0)\nos.waitpid(pid, 0)").holds()
    acquire(data_folder).release()
    assert not stopped(data_folder)
    parent.leave()
    assert stopped(data_folder)


def test_a_lease_nobody_released_ends_with_the_process(data_folder: Path, hold: Callable[..., Holder]) -> None:
    hold("acquire(sys.argv[1])").holds().leave()
    assert stopped(data_folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_the_server_outlives_who_started_it(data_folder: Path, hold: Callable[..., Holder], number: signal.Signals) -> None:
    starter = hold("import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)").holds()
    pid = server_pid(data_folder)
    assert os.getsid(pid) not in (starter.process.pid, os.getsid(0))
    starter.kill(number)
    with acquire(data_folder) as lease:
        assert server_pid(data_folder) == pid
        assert ask(lease, "select 1") == 1
    assert stopped(data_folder)


@pytest.mark.parametrize("where", ["fresh_folder", "data_folder"])
def test_ten_start_at_the_same_moment(where: str, request: pytest.FixtureRequest, hold: Callable[..., Holder]) -> None:
    folder: Path = request.getfixturevalue(where)
    shutil.rmtree(folder / "postgres/log", ignore_errors=True)
    crowd = [hold() for _ in range(10)]
    assert len({server_pid(folder) for holder in crowd if holder.holds()}) == 1
    assert sum(log.read_text().count("starting PostgreSQL") for log in (folder / "postgres/log").iterdir()) == 1
    for holder in crowd[::2]:
        holder.kill()
    for holder in crowd[1::2]:
        assert not stopped(folder)
        holder.leave()
    assert stopped(folder)


COME_AND_GO = """
import sys, psycopg
from lanework.embedded import acquire
for _ in range(12):
    with acquire(sys.argv[1]) as lease, psycopg.connect(lease.dsn) as connection:
        for _ in range(3):
            connection.execute("select 1")
"""


def test_coming_and_going_never_meets_a_dead_server(data_folder: Path) -> None:
    crowd = [subprocess.Popen([sys.executable, "-c", COME_AND_GO, str(data_folder)]) for _ in range(4)]
    assert [process.wait(100) for process in crowd] == [0] * 4
    assert stopped(data_folder)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_server_holds_no_lock_of_its_users(data_folder: Path) -> None:
    with acquire(data_folder):
        held = {link.readlink() for link in Path(f"/proc/{server_pid(data_folder)}/fd").iterdir()}
        names = {path.name for path in held if path.is_relative_to(data_folder)}
    assert "server.lock" in names
    assert names.isdisjoint({"users.lock", "start.lock"})
