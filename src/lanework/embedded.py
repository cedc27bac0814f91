"""A real PostgreSQL in a data folder, for everyone who has not brought one.

    with embedded.acquire() as lease:
        psycopg.connect(lease.dsn)

Every user of the folder holds a lease. The first starts the server, the last to leave stops it, and whoever dies
without leaving has left: the kernel keeps the count. A child process that outlives its parent calls `acquire` itself;
when the server already runs, that costs one connection.

The folder is `LANEWORK_DATA`, or `$XDG_DATA_HOME/lanework`, or `~/.local/share/lanework`; for root, whose home the
server's account could not enter, `/var/lib/lanework`. The calls block: use a thread from async code.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from lanework._embedded import binaries
from lanework._embedded.durability import acheck_durability, check_durability
from lanework._embedded.home import Home
from lanework._embedded.lock import FileLock
from lanework._embedded.logs import Patience
from lanework._embedded.server import Server
from lanework._embedded.settings import Settings, running_port
from lanework.errors import EmbeddedError

__all__ = ["Lease", "acheck_durability", "acquire", "check_durability", "default_folder"]

#: Released at exit. A dropped reference alone must not stop the server under a DSN in use.
_held: set[Lease] = set()


class Lease:
    """The right to use the server. It belongs to the process that acquired it: a forked child has none."""

    def __init__(self, server: Server, users: FileLock, start_timeout: float) -> None:
        self._server, self._users, self._start_timeout = server, users, start_timeout
        self._release = threading.Lock()
        self.dsn = server.dsn()
        self.folder = server.home.folder
        _held.add(self)

    def ensure(self) -> None:
        """Start the server again if it died under us."""
        if self._users.closed:
            raise EmbeddedError(f"this lease on {self.folder} was released. Acquire a new one.")
        with _explained(self.folder):
            self._server.ensure(Patience(self._server.home, quiet=self._start_timeout))

    def release(self) -> None:
        """Leave. The last one stops the server and waits until it has ended."""
        with self._release:
            _held.discard(self)
            if not self._users.closed:
                _leave(self._server, self._users)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<Lease {self.folder}{' (released)' if self._users.closed else ''}>"


def acquire(folder: Path | str | None = None, *, tcp_port: int | None = None, start_timeout: float = 60) -> Lease:
    """Use the server in `folder`, and start it if it does not run.

    `tcp_port`: listen on 127.0.0.1 as well, with the same password. By default there is only a private unix socket.
    `start_timeout`: seconds to wait while the server's log does not move. Recovery that moves may take any time.
    """
    place = Path(folder or default_folder()).expanduser().resolve()
    with _explained(place):
        server = Server(Home.open(place), binaries.from_wheel(), Settings(tcp_port=tcp_port))
        users = _join(server, start_timeout)
        try:
            server.ensure(Patience(server.home, quiet=start_timeout))
            _check_port(server, tcp_port)
            return Lease(server, users, start_timeout)
        except BaseException:
            _leave(server, users)
            raise


def default_folder() -> Path:
    if chosen := os.environ.get("LANEWORK_DATA"):
        return Path(chosen)
    if data_home := os.environ.get("XDG_DATA_HOME"):
        return Path(data_home) / "lanework"
    return Path("/var/lib/lanework") if os.geteuid() == 0 else Path.home() / ".local/share/lanework"


def _join(server: Server, start_timeout: float) -> FileLock:
    """Become a user. Only a leaver who stops the server keeps us waiting, and he is in his last breath."""
    users = FileLock(server.home.users_lock)
    patience = Patience(server.home, quiet=start_timeout)
    try:
        while not users.share():
            patience.wait(f"the process that stops the server, which holds {users.path}")
    except BaseException:
        users.close()
        raise
    return users


def _leave(server: Server, users: FileLock) -> None:
    # Unlock, then ask for all: two who leave at once cannot both be refused because of each other.
    users.unlock()
    with users:
        if users.own():
            server.stop()


def _check_port(server: Server, tcp_port: int | None) -> None:
    running = running_port(server.home.data)
    if tcp_port and tcp_port != running:
        raise EmbeddedError(
            f"the server in {server.home.folder} already runs, and not on TCP port {tcp_port}. "
            "End the processes that use it, or start the first of them with this port."
        )


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EmbeddedError(
            f"the embedded PostgreSQL cannot use {folder}: {error.strerror} ({error.filename or 'no file named'}). "
            "Make the folder writable and room on the disk, choose another one with LANEWORK_DATA, or set LANEWORK_DSN."
        ) from error


@atexit.register
def _release_all() -> None:
    for lease in list(_held):
        lease.release()
