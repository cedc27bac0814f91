"""PgBouncer in transaction mode in front of a test's server, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from lanework._embedded.account import lent_by_root
from tests.servers import PrivateServer, data_folder, free_port

#: Connections to the server per database: fewer than a worker and its clients open to the pooler.
POOL = 6


def program() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


class Pooler:
    """Any database of one server, through a pooler that gives each transaction whatever connection is free."""

    def __init__(self, server: PrivateServer, folder: Path, mode: str, pool: int) -> None:
        self.port = free_port()
        self._server, self._log = server, folder / "pgbouncer.log"
        config = folder / "pgbouncer.ini"
        config.write_text(self._configuration(mode, pool))
        account = {}
        if os.geteuid() == 0:  # it refuses to run as root, as the server does
            lent = lent_by_root()
            os.chown(folder, lent.uid, lent.gid)
            os.chown(config, lent.uid, lent.gid)
            account = {"user": lent.uid, "group": lent.gid, "extra_groups": []}
        found = program()
        assert found is not None
        self._process = subprocess.Popen([found, "-q", str(config)], cwd="/", stderr=subprocess.DEVNULL, **account)  # type: ignore[call-overload]
        self._wait()

    def _configuration(self, mode: str, pool: int) -> str:
        to = conninfo_to_dict(self._server.dsn)
        self._passfile = str(to["passfile"])
        return "\n".join([
            "[databases]", f"* = host={to['host']} port={to['port']} user={to['user']} password={self._server.password}",
            "[pgbouncer]", f"listen_addr = 127.0.0.1\nlisten_port = {self.port}", "unix_socket_dir =", "auth_type = any",
            f"pool_mode = {mode}\ndefault_pool_size = {pool}\nmax_client_conn = 1000\nquery_wait_timeout = 60",
            f"logfile = {self._log}", "server_login_retry = 1", "server_tls_sslmode = disable", "",
        ])  # fmt: skip

    def dsn(self, direct: str) -> str:
        """The way through the pooler to the database of a direct DSN."""
        database = conninfo_to_dict(direct)["dbname"]
        return f"postgresql://lanework@127.0.0.1:{self.port}/{database}?sslmode=disable&passfile={self._passfile}"

    def _wait(self) -> None:
        until = time.monotonic() + 90
        while True:
            try:
                psycopg.connect(self.dsn(self._server.dsn), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None and time.monotonic() < until, self._log.read_text()
                time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def pooler(server: PrivateServer, *, mode: str = "transaction", pool: int = POOL) -> Iterator[Pooler]:
    with data_folder() as folder:
        running = Pooler(server, folder, mode, pool)
        try:
            yield running
        finally:
            running.stop()
