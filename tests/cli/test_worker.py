"""`lanework worker`, from start to SIGTERM."""

from __future__ import annotations

import os
import subprocess
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from tests.cli.commands import LANEWORK, Cli

APP = """
    import os, time
    from lanework import Context, Lanework

    app = Lanework()

    @app.job(lane="quick")
    async def double(ctx: Context, n: int) -> int:
        print("doubling", n)
        return 2 * n

    @app.job(lane="quick", max_tries=1)
    def broken(ctx: Context) -> None:
        raise ValueError("no \\x1b[31mway")

    @app.job(lane="slow")
    async def sleepy(ctx: Context) -> None:
        import asyncio
        ctx.progress(0.5, "half way")
        await asyncio.sleep(600)
"""


@contextmanager
def working(dsn: str, folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    file = folder / "its_app.py"
    file.write_text(textwrap.dedent(APP))
    command = [*LANEWORK, "worker", *words, "--name", "tester", "--grace", "1"]
    environment = {**os.environ, "LANEWORK_DSN": dsn}
    process = subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=60)


@pytest.mark.processes
@pytest.mark.parametrize("target", ["its_app:app", "its_app.py"])
def test_a_worker_from_start_to_sigterm(cli: Cli, database: str, tmp_path: Path, target: str) -> None:
    with working(database, tmp_path, target) as process:
        while not cli.json("workers", "list"):
            assert process.poll() is None
            time.sleep(0.1)
        with psycopg.connect(database, autocommit=True) as db:
            ids = [
                db.execute("select lanework.enqueue(%s, %s::jsonb)", [kind, payload]).fetchall()[0][0]
                for kind, payload in (("double", '{"n": 4}'), ("broken", "{}"), ("sleepy", "{}"))
            ]
        good, bad, sleepy = ids
        assert cli.json("jobs", "wait", good, "--timeout", 30)[0]["result"] == 8
        assert cli("jobs", "wait", bad, "--timeout", 30) == 7
        assert cli.err.startswith("LW-312: ") and r"no \x1b[31mway" in cli.err
        assert cli("jobs", "show", bad) == 0 and "Traceback" in cli.out
        assert cli("jobs", "logs", good) == 0 and cli.out.rstrip().endswith("stdout  doubling 4")
        assert cli.json("jobs", "logs", good, "--follow")["text"].strip() == "doubling 4"
        while cli.json("status")["running"][0:1] == [] or cli.json("status")["running"][0]["fraction"] is None:
            time.sleep(0.1)
        assert cli("status") == 0 and "50%  half way" in cli.out and "tester" in cli.out
        assert cli("workers", "list") == 0 and "tester" in cli.out
        assert cli("verify") == 0, cli.out
        assert cli("jobs", "cancel", sleepy) == 0 and "stopping" in cli.out
        assert cli("jobs", "wait", sleepy, "--timeout", 30) == 8
        process.terminate()
        _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert "starting its_app" in log and "Traceback" not in log
    assert cli.json("workers", "list") == [] and cli.json("workers", "list", "--all")[0]["state"] == "stopped"
