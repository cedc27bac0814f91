"""A contestant of the race: something that fills, drains and picks up jobs on a fresh database, and says how fast."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from lanework.bench import install

DRIVERS = Path(__file__).parent / "peers"
TIMEOUT = 180


@dataclass(frozen=True, slots=True)
class Run:
    """One round of one contestant. Rates are per second, pickup is in milliseconds."""

    enqueue_per_s: float
    drain_per_s: float
    pickup_p50_ms: float | None = None
    pickup_p99_ms: float | None = None
    version: str = ""


class PeerFailed(Exception):
    """A driver ended without figures; the text says why, and is shown in its place."""


def graphile(dsn: str, jobs: int, pings: int) -> Run:
    return _drive([str(install.node()), "graphile.js"], dsn, jobs, pings)


def graphile_analyzed(dsn: str, jobs: int, pings: int) -> Run:
    """The same after `analyze`, as autovacuum does it within a minute: the planner then serves it much better."""
    return _drive([str(install.node()), "graphile.js"], dsn, jobs, pings, {"BENCH_ANALYZE": "1"})


def pgqueuer(dsn: str, jobs: int, pings: int) -> Run:
    return _drive([str(install.python()), "pgqueuer_driver.py"], dsn, jobs, pings)


def procrastinate(dsn: str, jobs: int, pings: int) -> Run:
    return _drive([str(install.python()), "procrastinate_driver.py"], dsn, jobs, pings)


Runner = Callable[[str, int, int], Run]


def _password_file(dsn: str) -> dict[str, str]:
    """node-postgres reads it from the environment only."""
    file = conninfo_to_dict(dsn).get("passfile")
    return {"PGPASSFILE": str(file)} if file else {}


def _drive(command: list[str], dsn: str, jobs: int, pings: int, settings: dict[str, str] | None = None) -> Run:
    interpreter, script = command
    environment = {**os.environ, **_password_file(dsn), "NODE_PATH": str(install.node_modules()), **(settings or {})}
    try:
        done = subprocess.run(  # noqa: S603 - our own driver
            [interpreter, str(DRIVERS / script), dsn, str(jobs), str(pings)],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            env=environment,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerFailed(f"{script} did not end within {TIMEOUT} s") from error
    except subprocess.CalledProcessError as error:
        raise PeerFailed(f"{script} exited with {error.returncode}: {install.last_line(error.stderr)}") from error
    return Run(**json.loads(done.stdout.splitlines()[-1]))
