"""The real `lanework worker` command in a process of its own, and what the database says about its work."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from lanework.bench.install import last_line

APP = "lanework.bench.app:app"
GRACE = 20
PATIENCE = 240


class WorkerFailed(Exception):
    """The worker ended, or did not get its work done; the text says what it wrote last."""


@contextmanager
def worker(dsn: str, *lanes: str) -> Iterator[subprocess.Popen[str]]:
    command = [*_lanework(), "worker", APP, "--lanes", ",".join(lanes)]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, env={**os.environ, "LANEWORK_DSN": dsn}, stdout=log, stderr=log, text=True
        )
        try:
            yield process
        except TimeoutError as error:
            log.seek(0)
            raise WorkerFailed(f"{error}; its last line: {last_line(log.read())}") from error
        finally:
            _stop(process)


def _lanework() -> list[str]:
    script = shutil.which("lanework", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-c", "from lanework.cli import main; raise SystemExit(main())"]


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_finished(dsn: str, last: int, process: subprocess.Popen[str]) -> None:
    """Until no job is live. First looks at the last job's row alone: a watcher must not cost what it watches."""
    until = time.monotonic() + PATIENCE
    questions = ("select exists (select from lanework.jobs where id = %s)", "select exists (select from lanework.jobs)")
    with psycopg.connect(dsn, autocommit=True, application_name="bench") as db:
        for question in questions:
            while db.execute(question, [last] if "%s" in question else None).fetchall()[0][0]:
                if process.poll() is not None or time.monotonic() > until:
                    raise TimeoutError(f"the worker did not finish its jobs (exit code {process.returncode})")
                time.sleep(0.02)


def rate(dsn: str, type_name: str) -> float:
    """Jobs a second from the first claim to the last stored finish, by the database's own clock."""
    with psycopg.connect(dsn, application_name="bench") as db:
        [(count, seconds)] = db.execute(
            "select count(*), extract(epoch from max(finished_at) - min(claimed_at))::float8"
            " from lanework.all_jobs where type = %s and status = 'completed'",
            [type_name],
        ).fetchall()
    return float(count / seconds)


def median_ms(dsn: str, type_name: str) -> float:
    """Milliseconds from claim to stored finish, the median."""
    with psycopg.connect(dsn, application_name="bench") as db:
        [(value,)] = db.execute(
            "select percentile_cont(0.5) within group (order by extract(epoch from finished_at - claimed_at)) * 1000"
            " from lanework.all_jobs where type = %s and status = 'completed'",
            [type_name],
        ).fetchall()
    return float(value)
