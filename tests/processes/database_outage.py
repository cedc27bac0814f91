"""A site on a server of its own, which the test may stop, kill and start again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lanework import migrate
from lanework._guard.processes import is_gone
from tests.processes.database_jobs import watchful_of
from tests.processes.harness import Process, Site, descendants
from tests.servers import PrivateServer
from tests.sql.engine import Engine, connect
from tests.sql.proof import complaints, instrumented

DATABASE = "outage_test"


class OutageSite(Site):
    """After each start of the server `reconnect` gives the test its own eyes back."""

    def reconnect(self) -> None:
        self.sql.db.close()
        self.sql = Engine(connect(self.dsn))

    def start_worker(self, **env: str) -> Process:
        command = ["lanework", "worker", "tests.processes.database_jobs:app", "--name"]
        return self._start("", command, env, wait=True)

    def trees(self, *workers: Process) -> dict[str, list[int]]:
        """The processes of each worker: its guard, the worker proper, its warm children."""
        return {one.name: sorted([one.popen.pid, *descendants(one.popen.pid)]) for one in workers}

    def all_alive(self, trees: dict[str, list[int]]) -> bool:
        return not any(is_gone(pid) for tree in trees.values() for pid in tree)

    def states(self) -> list[tuple[str, str]]:
        return [(row["name"], row["state"]) for row in self.sql.rows("select name, state from lanework.workers order by id")]


@contextmanager
def outage_site(server: PrivateServer, folder: Path) -> Iterator[OutageSite]:
    with connect(server.dsn_of("postgres")) as admin:
        admin.execute(f"create database {DATABASE}".encode())
    dsn = server.dsn_of(DATABASE)
    with connect(dsn) as db:
        migrate.apply(db)
    site = OutageSite(dsn, folder, instrumented(dsn))
    watchful_of(site.client)
    try:
        yield site
        assert complaints(site.sql) == []
    finally:
        site.close()
        print(site.logs())
        site.sql.db.close()


Servers = Callable[..., PrivateServer]
