"""What goes wrong: one line with its code, and which exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from lanework.cli import main
from tests.cli.commands import LANEWORK, Cli, run


def test_an_error_is_one_line_with_its_code(cli: Cli) -> None:
    assert cli("jobs", "show", 404) == 5
    assert cli.err == "LW-310: there is no job 404\n" and cli.out == ""
    assert cli("jobs", "list", "--status", "asleep") == 2
    assert cli.err.startswith("LW-300: status: expected one of") and "'asleep'" in cli.err
    assert cli("lanes", "set", "nowhere", "--slots", 1) == 5
    assert cli.err.startswith("LW-321: ")


def test_no_database_is_exit_code_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dsn", "postgresql://me:geheim@127.0.0.1:1/db", "status"]) == 3
    err = capsys.readouterr().err
    assert err.startswith("LW-200: ") and err.count("\n") == 1 and "geheim" not in err


def test_an_address_that_is_none_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dsn", "me:geheim@host", "status"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("LW-100: --dsn: ") and "geheim" not in err


def test_an_old_schema_is_exit_code_4_and_is_left_alone(empty_database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dsn", empty_database, "status"]) == 4
    assert "run `lanework migrate`" in capsys.readouterr().err
    assert main(["--dsn", empty_database, "migrate", "--plan"]) == 0
    planned = capsys.readouterr().out.splitlines()
    assert planned[0] == "0001_tables.sql"
    assert main(["migrate", "--dsn", empty_database]) == 0
    assert capsys.readouterr().out.splitlines() == planned
    assert main(["migrate", "--dsn", empty_database]) == 0
    assert capsys.readouterr().out == ""


def test_what_the_database_refuses_is_no_traceback(cli: Cli, sql: Callable[..., Any]) -> None:
    sql("alter table lanework.lanes add constraint full_up check (max_slots < 5) not valid")
    sql("insert into lanework.lanes (name) values ('small')")
    assert cli("lanes", "set", "small", "--slots", 9) == 3
    assert cli.err.startswith("LW-000: the database refused: ") and "Traceback" not in cli.err


def test_schema_is_printed_without_a_database() -> None:
    done = run(None, "migrate", "--print", env={"LANEWORK_DSN": "postgresql://127.0.0.1:1/none"})
    assert done.returncode == 0 and done.stderr == ""
    assert "create table lanework.jobs (" in done.stdout


def test_a_reader_that_leaves_is_no_error() -> None:
    command = f"{' '.join(LANEWORK)} migrate --print | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], text=True, capture_output=True, timeout=60, check=False)
    assert done.stderr == "" and done.stdout.count("\n") == 1
    assert done.returncode == 0


def test_ctrl_c_is_quiet(database: str, submit: Callable[..., list[int]]) -> None:
    [job_id] = submit()
    words = [*LANEWORK, "jobs", "wait", str(job_id)]
    with subprocess.Popen(words, env={**os.environ, "LANEWORK_DSN": database}, stderr=subprocess.PIPE, text=True) as process:
        _wait_for_connection(database)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err and "Interrupt" not in err and "LW-" not in err


def _wait_for_connection(dsn: str) -> None:
    """Until a client other than the tests' own has asked for a job."""
    ask = """
        select count(*) from pg_stat_activity
        where query like '%all_jobs%' and pid <> pg_backend_pid() and datname = current_database()
    """
    with psycopg.connect(dsn, autocommit=True) as db:
        while not db.execute(ask.encode()).fetchall()[0][0]:
            time.sleep(0.05)


@pytest.mark.parametrize("target", ["nowhere:app", "nowhere.py", "not a module"])
def test_a_worker_without_its_application(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worker", target]) == 2
    assert capsys.readouterr().err.startswith("LW-100: ")
