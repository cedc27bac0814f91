"""The server of a run, and a fresh database for each measurement."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from lanework.bench.home import home, say
from lanework.embedded import acquire


@dataclass(slots=True)
class Server:
    dsn: str
    _numbers: Iterator[int] = field(default_factory=count, repr=False)

    def admin(self) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection to another database than the measured ones: what it does is not counted there."""
        return psycopg.connect(self.uri("postgres"), autocommit=True, application_name="bench")

    def uri(self, database: str) -> str:
        """As a URI: the one form that psycopg, asyncpg and node-postgres all read."""
        parts = conninfo_to_dict(self.dsn)
        password = f":{quote(str(parts['password']), safe='')}" if parts.get("password") else ""
        user = quote(str(parts.get("user", "postgres")), safe="")
        kept = {key: str(parts[key]) for key in ("host", "port", "passfile") if parts.get(key)}
        places = "&".join(f"{key}={quote(value, safe='')}" for key, value in kept.items())
        return f"postgresql://{user}{password}@/{database}?{places}"

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """A new database, a checkpoint behind it so that no run pays for the one before, dropped afterwards."""
        name = f"bench_{next(self._numbers)}"
        with self.admin() as admin:
            admin.execute(f"drop database if exists {name} with (force)")
            admin.execute(f"create database {name}")
            admin.execute("checkpoint")
        try:
            yield self.uri(name)
        finally:
            with self.admin() as admin:
                admin.execute(f"drop database if exists {name} with (force)")

    def conditions(self) -> dict[str, str]:
        """The settings that decide what a commit costs; the figures mean nothing without them."""
        with self.admin() as admin:
            names = {"server_version": "PostgreSQL", "fsync": "fsync", "synchronous_commit": "synchronous_commit"}
            return {shown: str(admin.execute(f"show {name}").fetchall()[0][0]) for name, shown in names.items()}


@contextmanager
def private() -> Iterator[Server]:
    """A durable embedded server with default settings, in a folder that goes away with the run."""
    _clear_leftovers()
    folder = home() / f"pg-{os.getpid()}"
    say("starting a private PostgreSQL")
    try:
        lease = acquire(folder)
        try:
            yield Server(lease.dsn)
        finally:
            lease.release()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _clear_leftovers() -> None:
    """A run that was killed left its server behind. Joining and leaving it stops it."""
    for folder in home().glob("pg-*"):
        if not Path(f"/proc/{folder.name[3:]}").exists():
            with contextlib.suppress(Exception):
                acquire(folder).release()
            shutil.rmtree(folder, ignore_errors=True)
