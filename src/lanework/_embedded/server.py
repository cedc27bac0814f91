"""One PostgreSQL server in one data folder: is it there, start it, stop it."""

from __future__ import annotations

import logging
import subprocess
import time
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote, urlencode

import psycopg
from psycopg.pq import Ping

from lanework._embedded import cluster, logs
from lanework._embedded.binaries import Binaries
from lanework._embedded.home import Home
from lanework._embedded.lock import FileLock, is_free
from lanework._embedded.logs import Patience
from lanework._embedded.settings import Settings, running_port
from lanework.errors import EmbeddedError

_logger = logging.getLogger("lanework.embedded")
_STOP_SECONDS = 60


class State(Enum):
    READY = "accepts connections"
    BUSY = "starts, recovers or stops"
    DEAD = "no process of it lives"


@dataclass(frozen=True, slots=True)
class Server:
    home: Home
    binaries: Binaries
    settings: Settings

    def dsn(self, database: str = "lanework") -> str:
        """Holds no secret: libpq reads the password from the file."""
        self.home.check_sockets()
        port = running_port(self.home.data)
        place = {"host": str(self.home.sockets), "port": port, "passfile": str(self.home.passfile)}
        return f"postgresql://{cluster.USER}@/{database}?{urlencode(place, quote_via=quote, safe='')}"

    def state(self) -> State:
        if self._ping() is Ping.OK:
            return State.READY
        return State.DEAD if is_free(self.home.server_lock) else State.BUSY

    def usable(self) -> bool:
        """The cheap question of everyone but the first."""
        try:
            psycopg.connect(self.dsn(), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def ensure(self, patience: Patience) -> None:
        """Return when the server is usable, whoever starts it."""
        while not self.usable():
            with FileLock(self.home.start_lock) as lock:
                if lock.own():
                    self._start(patience)
            patience.wait("the server to start")

    def stop(self, mode: str = "fast") -> None:
        """Return when no process of it lives. One that does not answer is left alone: its pid may be a stranger's."""
        if self._ping() not in (Ping.OK, Ping.REJECT):
            return
        command = [self.binaries["pg_ctl"], "stop", "-D", str(self.home.data), "-m", mode, "-W"]
        told = self.home.account.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if told.returncode or not self._wait_for_end():
            _logger.warning("the embedded PostgreSQL in %s did not stop. %s", self.home.root, told.stdout.strip())
        self.home.remove_sockets()

    def _wait_for_end(self) -> bool:
        deadline = time.monotonic() + _STOP_SECONDS
        while not (ended := is_free(self.home.server_lock)) and time.monotonic() < deadline:
            time.sleep(0.01)
        return ended

    def _start(self, patience: Patience) -> None:
        launched = False
        while (state := self.state()) is not State.READY:
            if state is State.DEAD and launched:
                raise EmbeddedError(f"PostgreSQL in {self.home.root} ended while it started.{logs.ending(self.home)}")
            if state is State.DEAD:
                launched = self._launch()
            patience.wait("the server to accept connections")
        self._create_database()

    def _launch(self) -> bool:
        with FileLock(self.home.server_lock) as lock:
            if not lock.own():
                return False
            self.home.account.must_reach(self.binaries.folder)
            cluster.prepare(self.home, self.binaries, self.settings)
            self._spawn(lock)
            # The server has the lock now; to unlock here would take it from its hands.
            lock.forget()
            return True

    def _spawn(self, lock: FileLock) -> None:
        """Detached: a session of its own, no terminal, and no parent that would have to outlive or to reap it."""
        config = f"--config-file={self.home.root / 'postgresql.conf'}"
        command = [self.binaries["postgres"], "-D", str(self.home.data), config]
        with self.home.start_log.open("wb") as log:
            self.home.account.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(lock.fileno(),),
            )

    def _create_database(self) -> None:
        try:
            with psycopg.connect(self.dsn("postgres"), autocommit=True, connect_timeout=5) as connection:
                if not connection.execute("select 1 from pg_database where datname = 'lanework'").fetchone():
                    connection.execute("create database lanework")
        except psycopg.Error as error:
            raise EmbeddedError(
                f"the embedded PostgreSQL in {self.home.root} runs but refuses us: {str(error).strip()}. If its "
                "passfile was changed, end all users of the folder and delete the passfile: a new one is made."
            ) from error

    def _ping(self) -> Ping:
        return Ping(psycopg.pq.PGconn.ping(f"{self.dsn()}&connect_timeout=5".encode()))
