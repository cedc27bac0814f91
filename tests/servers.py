"""Throw-away PostgreSQL servers for tests, made of the same parts as the embedded one.

A `PrivateServer` is one server in a temporary folder that a test may stop, kill and restart as it likes.
A `Databases` hands out databases on one server: empty ones, or copies of a template with the schema in it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psycopg

from lanework import migrate
from lanework._embedded import binaries
from lanework._embedded.binaries import Binaries
from lanework._embedded.home import Home
from lanework._embedded.lock import FileLock, is_free
from lanework._embedded.logs import Patience
from lanework._embedded.server import Server
from lanework._embedded.settings import Settings

DEBIAN = Path("/usr/lib/postgresql")
ALIVE = "alive.lock"
MEMORY = Path("/dev/shm")
ENOUGH = 6 << 30


def majors_present() -> list[int]:
    """The versions of PostgreSQL that tests can run on here, the wheel's first."""
    return [18] + [major for major in (17, 16, 15) if (DEBIAN / str(major) / "bin/postgres").is_file()]


def programs(major: int) -> Binaries:
    return binaries.from_wheel() if major == 18 else Binaries(DEBIAN / str(major) / "bin", major)


def _root() -> Path:
    """Where the folders of servers are. Thousands of databases are copied and dropped: in memory, where there is enough of it, that
    takes a fifth of the time."""
    return MEMORY if _has_room(MEMORY) else Path(tempfile.gettempdir())


def _has_room(folder: Path) -> bool:
    """What is stored there is memory of this machine, and counts for the limit of whoever confines us."""
    try:
        free = shutil.disk_usage(folder).free
        known = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    except OSError:
        return False
    least = min(free, int(known["MemAvailable"].split()[0]) * 1024, *_limits())
    return os.access(folder, os.W_OK) and least > ENOUGH


def _limits() -> Iterator[int]:
    for file in (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes")):
        with suppress(OSError, ValueError):  # `max`: none
            yield int(file.read_text())


@contextmanager
def data_folder() -> Iterator[Path]:
    """A temporary folder that the server's account can enter when the tests run as root. pytest's `tmp_path` is not."""
    folder = Path(tempfile.mkdtemp(prefix="lw-", dir=_root()))
    folder.chmod(0o711)
    with FileLock(folder / "new.lock") as alive:
        assert alive.own()
        alive.path.rename(folder / ALIVE)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def sweep() -> None:
    """Stop and remove what a killed test run left behind. The lock of one that still runs is held."""
    for lock in (lock for root in (MEMORY, Path(tempfile.gettempdir())) for lock in root.glob(f"lw-*/{ALIVE}")):
        if lock.stat().st_uid == os.geteuid() and is_free(lock):
            for version in lock.parent.glob("*/postgres/data/PG_VERSION"):
                home = Home.open(version.parents[2])
                Server(home, programs(int(version.read_text())), Settings()).stop("immediate")
            shutil.rmtree(lock.parent, ignore_errors=True)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class PrivateServer:
    """`durable=False` (the default) turns fsync off: fast, and enough for everything but a crash of the machine.

    `tcp=True` listens on a free port of 127.0.0.1 as well, and `dsn` then goes there.
    """

    def __init__(self, folder: Path, *, major: int = 18, durable: bool = False, tcp: bool = False) -> None:
        self._port = free_port() if tcp else None
        settings = Settings(tcp_port=self._port, durable=durable)
        self._server = Server(Home.open(folder.resolve()), programs(major), settings)
        self.major = major

    @classmethod
    @contextmanager
    def temporary(cls, *, major: int = 18, durable: bool = False, tcp: bool = False) -> Iterator[Self]:
        """A server that runs, in a folder that vanishes with it."""
        with data_folder() as folder:
            server = cls(folder / "server", major=major, durable=durable, tcp=tcp)
            server.start()
            try:
                yield server
            finally:
                server.resume()
                server.stop("immediate")

    @property
    def dsn(self) -> str:
        return self.dsn_of("lanework")

    def dsn_of(self, database: str) -> str:
        if self._port is None:
            return self._server.dsn(database)
        passfile = psycopg.conninfo.conninfo_to_dict(self._server.dsn())["passfile"]
        return f"host=127.0.0.1 port={self._port} user=lanework dbname={database} passfile={passfile}"

    @property
    def password(self) -> str:
        return self._server.home.passfile.read_text().strip().rpartition(":")[2]

    @property
    def pid(self) -> int:
        return int((self._server.home.data / "postmaster.pid").read_text().splitlines()[0])

    @property
    def running(self) -> bool:
        return not is_free(self._server.home.server_lock)

    def start(self) -> None:
        self._server.ensure(Patience(self._server.home, quiet=60))

    def stop(self, mode: str = "fast") -> None:
        """`fast`: clients are cut off, a checkpoint is written. `immediate`: like a crash; the next start recovers."""
        self._server.stop(mode)

    def kill(self) -> None:
        """SIGKILL to the postmaster; returns when its children have noticed and are gone."""
        os.kill(self.pid, signal.SIGKILL)
        patience = Patience(self._server.home, quiet=60)
        while self.running:
            patience.wait("the killed server to vanish")

    def restart(self, mode: str = "immediate") -> None:
        self.stop(mode)
        self.start()

    def pause(self) -> None:
        """The postmaster hangs: connections are neither refused nor answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        with suppress(ProcessLookupError, FileNotFoundError):
            os.kill(self.pid, signal.SIGCONT)


class Databases:
    """New databases on a server, by the dozen: empty ones, or copies of one that was made before."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self._numbers = itertools.count(1)
        self._admin = psycopg.connect(server.dsn_of("postgres"), autocommit=True)
        self._templates: set[str] = set()
        if server.major >= 16:
            self._log_in_quickly()

    @contextmanager
    def empty(self) -> Iterator[str]:
        with self._database("template1") as dsn:
            yield dsn

    @contextmanager
    def with_schema(self) -> Iterator[str]:
        with self.like("lanework_template", _migrated) as dsn:
            yield dsn

    @contextmanager
    def like(self, template: str, fill: Callable[[str], None]) -> Iterator[str]:
        """A copy of the database of this name, which `fill` has made once for all tests."""
        if template not in self._templates:
            self._do(f"create database {template}")
            fill(self.server.dsn_of(template))
            self._templates.add(template)
        with self._database(template) as dsn:
            yield dsn

    def close(self) -> None:
        self._admin.close()

    def _log_in_quickly(self) -> None:
        """A password is hashed thousands of times at each end of a new connection, and tests make thousands of those: here once."""
        self._do("set scram_iterations = 1")
        self._do(f"alter role lanework password '{self.server.password}'")

    @contextmanager
    def _database(self, template: str) -> Iterator[str]:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        self._do(f"create database {name} template {template} strategy file_copy")
        try:
            yield self.server.dsn_of(name)
        finally:
            self._do(f"drop database {name} with (force)")

    def _do(self, statement: str) -> None:
        if self._admin.closed:
            self._admin = psycopg.connect(self.server.dsn_of("postgres"), autocommit=True)
        self._admin.execute(statement.encode())


def _migrated(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        migrate.apply(connection)
