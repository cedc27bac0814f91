"""The command line: what it prints where, and with which exit code."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanework import Context, Lanework, errors
from lanework._store.status import Running, ServerState
from lanework.cli import main, screen, text
from lanework.cli.commands import verify
from lanework.cli.output import as_json
from lanework.cli.parser import COMMANDS, GROUPS
from lanework.cli.snapshot import Lane, Snapshot
from lanework.config import Settings
from lanework.diagnosis import ERROR, OK, WARNING, Finding, server
from lanework.diagnosis.finding import Patient
from lanework.reports import WorkerInfo

LANEWORK = [sys.executable, "-m", "lanework"]
NASTY = "\x1b]0;owned\x07\x1b[31mred\x9b2J\u202egnp.exe\r\n\x7f"
LOUD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
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


class Cli:
    """Runs commands in this process and keeps what they printed."""

    def __init__(self, dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
        self._dsn, self._capsys = dsn, capsys
        self.out, self.err = "", ""

    def __call__(self, *words: object) -> int:
        self._capsys.readouterr()
        code = main(["--dsn", self._dsn, *map(str, words)])
        self.out, self.err = self._capsys.readouterr()
        return code

    def json(self, *words: object) -> Any:
        assert self(*words, "-o", "json") == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def cli(database: str, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(database, capsys)


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database) as app:

        @app.job(lane="quick")
        def double(ctx: Context, n: int) -> int:
            return 2 * n

        @app.job(lane="slow")
        def sleepy(ctx: Context, label: str = "") -> None: ...

        yield app


@pytest.fixture
def submit(app: Lanework) -> Callable[..., list[int]]:
    """So many jobs of a type, without anybody who works them."""

    def submit(kind: str = "double", count: int = 1, **options: Any) -> list[int]:
        from lanework.job import Submitter

        job: Submitter[..., Any] = Submitter(app, app.handlers[kind]).options(**options)
        return [job.submit(*([n] if kind == "double" else [])).id for n in range(count)]

    return submit


@pytest.fixture
def sql(database: str) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    with psycopg.connect(database, autocommit=True) as db:

        def do(statement: str, *values: Any) -> list[tuple[Any, ...]]:
            cursor = db.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

        yield do


def run(dsn: str | None, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **options.pop("env", {})} | ({"LANEWORK_DSN": dsn} if dsn else {})
    return subprocess.run([*LANEWORK, *words], env=environment, text=True, capture_output=True, timeout=60, check=False, **options)


# -- words ---------------------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--help"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert all(re.search(rf"^ +{name} ", out, re.M) for name in COMMANDS)
    codes = {kind.exit_code for kind in errors.BY_CODE.values()} | {0, 130}
    assert codes <= {int(found) for found in re.findall(r"(?<!\S)(\d+)  \w", out)}
    assert all(len(line) <= 80 for line in out.splitlines())


WORDS = [[name] for name in COMMANDS] + [[group, name] for group, names in GROUPS.items() for name in names]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_every_command_has_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    assert f"lanework {' '.join(words)}" in capsys.readouterr().out


def test_help_imports_nothing_that_it_does_not_need() -> None:
    """What `import lanework` itself brings is not the command line's."""
    script = """
        import sys, lanework
        before = set(sys.modules)
        from lanework.cli import main
        try:
            main(["--help"])
        except SystemExit:
            pass
        new = {name for name in set(sys.modules) - before if name.startswith("lanework")}
        sys.stderr.write(" ".join(sorted(new)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], text=True, capture_output=True, timeout=60, check=False)
    assert done.stderr.split() == ["lanework.cli", "lanework.cli.parser", "lanework.cli.text", "lanework.errors"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert re.fullmatch(r"lanework \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_wrong_words_are_exit_code_2_and_show_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["status", "--dns", "postgresql://me:geheim@host/db"])
    err = capsys.readouterr().err
    assert left.value.code == 2
    assert "geheim" not in err and "postgresql://me:***@host/db" in err


# -- errors --------------------------------------------------------------------------------------------------------------


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


# -- output --------------------------------------------------------------------------------------------------------------


def test_jobs_in_every_form(cli: Cli, submit: Callable[..., list[int]]) -> None:
    first, second = submit(count=2, owner="ada", tags=["red"])
    assert cli("jobs", "list") == 0
    assert cli.out.splitlines()[0].split() == ["ID", "TYPE", "LANE", "STATUS", "TRIES", "SUBMITTED", "TOOK", "NOTE"]
    assert [line.split()[:4] for line in cli.out.splitlines()[1:]] == [
        [str(second), "double", "quick", "approved"],
        [str(first), "double", "quick", "approved"],
    ]
    assert cli("jobs", "list", "-o", "ids") == 0 and cli.out == f"{second}\n{first}\n"
    assert cli("jobs", "list", "-o", "jsonl") == 0
    assert [json.loads(line)["payload"] for line in cli.out.splitlines()] == [{"n": 1}, {"n": 0}]
    assert [job["owner"] for job in cli.json("jobs", "list")] == ["ada", "ada"]
    assert cli.json("jobs", "show", first)[0]["attempts"] == []


def test_filters(cli: Cli, submit: Callable[..., list[int]]) -> None:
    mine, other = submit(owner="ada", tags=["red"])[0], submit("sleepy")[0]
    for words, expected in (
        (["--lane", "slow"], [other]), (["--type", "double"], [mine]), (["--owner", "ada"], [mine]), (["--tag", "red"], [mine]),
        (["--status", "running,failed"], []), (["--since", "1h"], [other, mine]), (["--since", "2999-01-01"], []),
        (["--error-class", "timeout"], []), (["--before", str(other)], [mine]), (["-n", "1"], [other]),
    ):  # fmt: skip
        assert [job["id"] for job in cli.json("jobs", "list", *words)] == expected, words


def test_more_than_a_page_is_said(cli: Cli, submit: Callable[..., list[int]]) -> None:
    ids = submit(count=3)
    assert cli("jobs", "list", "-n", 2) == 0
    assert cli.err == f"there may be more: --before {ids[1]}, or --all\n"
    assert cli("jobs", "list", "--status", "failed") == 0
    assert (cli.out, cli.err) == ("", "no job matches\n")


def test_job_data_cannot_drive_the_terminal(cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., Any]) -> None:
    [job_id] = submit("sleepy", owner="ada")
    clean = NASTY.replace("\x00", "")
    sql("update lanework.jobs set owner = %s, payload = jsonb_build_object('label', %s::text)", clean, clean)
    sql("insert into lanework.logs (job_id, attempt, stream, text) values (%s, 1, 'info', %s)", job_id, clean)
    sql(
        "insert into lanework.attempts values (%s, 1, 1, now(), now(), 'retry', 'unknown', 'LW-420', %s, %s, %s)",
        job_id,
        *[clean] * 3,
    )
    for words in (["jobs", "list"], ["jobs", "show", job_id], ["jobs", "logs", job_id], ["status"]):
        for form in ("table", "json"):
            assert cli(*words, "-o", form) == 0
            assert not LOUD.search(cli.out), (words, form, LOUD.search(cli.out))
    assert cli("jobs", "logs", job_id) == 0 and r"\x1b]0;owned\x07" in cli.out
    assert cli.json("jobs", "show", job_id)[0]["owner"] == clean


def test_colours_need_a_terminal_and_may_be_unwanted(database: str) -> None:
    assert "\x1b" not in run(database, "lanes", "list").stdout
    assert "\x1b[1m" in _in_terminal(database, "lanes", "list")
    assert "\x1b" not in _in_terminal(database, "lanes", "list", NO_COLOR="1")


def _in_terminal(dsn: str, *words: str, **environment: str) -> str:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "LANEWORK_DSN": dsn, **environment}
    process = subprocess.Popen([*LANEWORK, *words], env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:
        pass  # Linux says so when the last writer has gone
    os.close(ours)
    assert process.wait(90) == 0
    return seen.decode()


@given(st.text(), st.integers(1, 40))
def test_text_is_safe_and_fits(given_text: str, most: int) -> None:
    shown = text.safe(given_text)
    assert not LOUD.search(shown) and "\n" not in shown
    assert text.width(text.clip(shown, most)) <= most
    assert json.loads(as_json([given_text])) == [given_text]
    assert not LOUD.search(as_json([given_text]))


# -- lanes ---------------------------------------------------------------------------------------------------------------


def test_a_lane_from_birth_to_end(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit()
    assert cli("lanes", "add", "wide", "--slots", "none", "--worker-slots", 2, "-o", "ids") == 0 and cli.out == "wide\n"
    assert cli.json("lanes", "set", "wide", "--max-slots", 4) == [
        {"lane": "wide", "changed": {"max_slots": {"was": None, "is": 4}}}
    ]
    assert cli("lanes", "set", "wide", "--max-slots", 4) == 0
    assert (cli.out, cli.err) == ("", "lane wide: nothing changed, it was so already\n")
    assert cli("lanes", "set", "wide", "--max-slots", 10_001) == 2
    assert cli.err.startswith("LW-320: max_slots: expected 0 to 10000 or none, got 10001")
    assert cli("lanes", "set", "wide") == 2
    assert cli("lanes", "drain", "quick", "--wait", 5) == 0
    assert [lane["enabled"] for lane in cli.json("lanes", "list", "quick")] == [False]
    assert cli("lanes", "resume", "quick") == 0
    assert cli("lanes", "remove", "quick") == 2 and cli.err.startswith("LW-322: ")
    assert cli("lanes", "remove", "quick", "--move-to", "wide") == 0
    assert cli.json("lanes", "list", "wide")[0]["job_types"] == ["double"]
    assert cli.json("lanes", "list", "wide")[0]["set_by"].startswith("cli")


# -- cancelling and waiting ----------------------------------------------------------------------------------------------


def test_cancel_by_id(cli: Cli, submit: Callable[..., list[int]]) -> None:
    [job_id] = submit()
    assert cli("jobs", "cancel", job_id, 999, "--reason", "too late") == 5
    assert [line.split(maxsplit=1) for line in cli.out.splitlines()[1:]] == [[str(job_id), "cancelled"], ["999", "not found"]]
    assert cli("jobs", "wait", job_id) == 8
    assert cli.err.startswith("LW-313: ") and "too late" in cli.err


def test_cancel_by_filter_asks_only_at_a_terminal(
    cli: Cli, submit: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = submit(count=3)
    other = submit("sleepy")
    assert cli("jobs", "cancel") == 2 and "say which jobs" in cli.err
    assert cli("jobs", "cancel", "--lane", "quick") == 2 and "--yes" in cli.err
    (planned,) = cli.json("jobs", "cancel", "--lane", "quick", "--dry-run")
    assert (planned["matched"], planned["state"]) == (3, "dry run") and "3 jobs would be cancelled" in cli.err
    assert [job["status"] for job in cli.json("jobs", "list", "--lane", "quick")] == ["approved"] * 3
    assert cli("jobs", "cancel", *ids, "--dry-run", "-o", "ids") == 0 and "nothing was done" in cli.err
    assert cli("jobs", "cancel", "--lane", "quick", "--yes") == 0 and "3 jobs cancelled" in cli.err
    assert cli.json("jobs", "list", "--status", "approved")[0]["id"] == other[0]


def test_what_has_ended_is_not_cancelled(
    cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., list[tuple[Any, ...]]]
) -> None:
    [job_id] = submit()
    sql("with gone as (delete from lanework.jobs returning *) insert into lanework.jobs_failed "
        "select gone.*, now(), 'permanent' from gone")  # fmt: skip
    sql("update lanework.jobs_failed set status = 'failed'")
    assert cli("jobs", "cancel", job_id) == 0 and "already failed" in cli.out
    assert cli.json("audit") == []


def test_priorities(cli: Cli, submit: Callable[..., list[int]]) -> None:
    ids = submit(count=3)
    assert cli("jobs", "priority", 7, ids[0]) == 0 and cli.out.split()[-3:] == [str(ids[0]), "0", "7"]
    assert cli("jobs", "priority", 1001, ids[0]) == 2 and cli.err.startswith("LW-300: priority: expected -1000 to 1000, got 1001")
    assert cli("jobs", "priority", 5, 10**9) == 5
    assert cli("jobs", "priority", 5) == 2 and "say which jobs" in cli.err
    assert cli("jobs", "priority", "--lane", "quick", "--dry-run", "--", "-5") == 0 and "3 jobs would be" in cli.err
    assert cli("jobs", "priority", "--lane", "quick", "--yes", "-o", "ids", "--", "-5") == 0 and "3 jobs given" in cli.err
    operation = cli.out.strip()
    assert [job["priority"] for job in cli.json("jobs", "list")] == [-5] * 3
    assert [one["state"] for one in cli.json("operations", "show", operation)] == ["done"]
    assert [str(one["id"]) for one in cli.json("operations", "list", "--state", "done")] == [operation]
    assert cli("operations", "stop", operation) == 0 and "done" in cli.out
    assert cli("operations", "show", 99999) == 5 and cli.err.startswith("LW-501: ")


def test_drains_and_freezes(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit()
    assert cli("lanes", "drain") == cli("lanes", "resume") == cli("lanes", "drain", "quick", "--all") == 2
    assert cli("lanes", "drain", "--all", "--reason", "upgrade", "--wait", 5) == 0 and "nothing starts any more" in cli.err
    assert cli("lanes", "drain", "--all") == 0 and "already" in cli.err
    assert [(lane["enabled"], bool(lane["held_by"])) for lane in cli.json("lanes", "list", "quick")] == [(True, True)]
    assert cli("lanes", "list") == 0 and "held" in cli.out
    assert cli("lanes", "resume", "--all") == 0 and "again" in cli.err
    assert cli("lanes", "freeze", "quick", "--for", "10m", "--wait", 1, "-o", "ids") == 0
    held = cli.out.strip()
    assert [one["lanes"] for one in cli.json("lanes", "freeze")] == [["quick"]]
    assert cli("lanes", "thaw", held) == 0 and "let go: quick" in cli.err
    assert cli("lanes", "thaw", held) == 5 and cli.err.startswith("LW-507: ")
    assert cli("lanes", "freeze", "nowhere") == 5
    assert cli("workers", "drain", 99999) == 5 and cli.err.startswith("LW-503: ")
    acts = [(one["act"], one["actor"].partition(":")[0]) for one in cli.json("audit", "--since", "1h")]
    assert acts == [("lanes.thaw", "cli"), ("lanes.freeze", "cli"), ("everything.resume", "cli"), ("everything.drain", "cli")]
    assert [one["act"] for one in cli.json("audit", "--act", "lanes", "-n", 1)] == ["lanes.thaw"]
    assert cli.json("audit", "--actor", "nobody") == cli.json("audit", "--target", "job:1") == []
    assert cli("audit", "--act", "everything") == 0 and "upgrade" in cli.out


def test_wait_runs_out_of_time(cli: Cli, submit: Callable[..., list[int]]) -> None:
    [job_id] = submit()
    assert cli("jobs", "wait", job_id, "--timeout", "0.1") == 6
    assert cli.err.startswith("LW-311: ")
    assert cli("jobs", "wait", job_id, 404) == 5


# -- a real worker -------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("target", ["nowhere:app", "nowhere.py", "not a module"])
def test_a_worker_without_its_application(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["worker", target]) == 2
    assert capsys.readouterr().err.startswith("LW-100: ")


def test_the_benchmark_gets_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    from lanework.bench import command

    seen: list[list[str]] = []

    def measure(words: list[str]) -> int:
        seen.append(words)
        return 0

    monkeypatch.setattr(command, "main", measure)
    assert main(["--dsn", "x", "bench", "--quick", "-o", "json"]) == 0
    assert main(["bench", "--dsn", "y"]) == 0
    assert seen == [["--quick", "-o", "json", "--dsn", "x"], ["--dsn", "y"]]


# -- status --------------------------------------------------------------------------------------------------------------


def test_status_says_what_nobody_serves(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit(count=2)
    assert cli("status") == 0
    assert "! no worker serves double: their jobs wait" in cli.out
    assert re.search(r"^quick +0/1 +2 ", cli.out, re.M) and "nobody leads" in cli.out
    seen = cli.json("status")
    assert seen["unserved"] == ["double"] and seen["workers"] == [] and seen["leader"] is None


@pytest.mark.parametrize("crowd", [0, 1, 5, 100])
def test_the_screen_fits(crowd: int) -> None:
    now, long = datetime.now(UTC), "rather-a-long-name-for-this-"
    worker = WorkerInfo(1, long * 2, "host", 1, "active", now, now, 99.0, ("a",) * 30, (), 2, False, None, None)
    seen = Snapshot(
        database=long * 2, version="18.1 (Debian)", now=now, leader=7, leader_name="x", completed_5min=10**6, failed_5min=10**5,
        counted_to=10_000, unserved=[long] * crowd, running_total=crowd, workers=[worker] * crowd,
        lanes=[Lane(f"{long}{n}", 3, 3, None, n % 2 == 0, 10**6, 10**5, 3, 7e5, ("a", "b")) for n in range(crowd)],
        running=[Running(10**9 + n, long * 2, "lane", 12, 9e4, 0.5, "日本語" * 40, "w", None) for n in range(crowd)],
    )  # fmt: skip
    lines = screen.render(seen, 80, 24)
    assert len(lines) <= 24
    assert max(map(text.width, lines)) <= 80
    assert ("more" in "".join(lines)) == (crowd > 5)


def test_status_counts_so_far_and_no_further(cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., Any]) -> None:
    submit(), submit("sleepy", run_at=timedelta(hours=1)), submit("double", session="s", count=2)
    assert cli("status") == 0
    assert re.search(r"^quick +0/1 +2 +\S+ s +0 +1 +no worker", cli.out, re.M), cli.out
    assert re.search(r"^slow +0/1 +0 +1 +0 +no worker", cli.out, re.M), cli.out
    many = "select min(id), 'approved' from lanework.job_types, generate_series(1, 10001) n group by n"
    sql(f"insert into lanework.jobs (type_id, status) {many}")
    assert cli("status") == 0 and re.search(r"^quick +0/1 +10,000\+ ", cli.out, re.M), cli.out
    assert [cli.json("status")[name] for name in ("counted_to", "running_total")] == [10_000, 0]
    assert {lane["name"]: lane["waiting"] for lane in cli.json("status")["lanes"]}["quick"] == 10_000


# -- config --------------------------------------------------------------------------------------------------------------


def test_config_shows_where_from_and_no_password(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("LANEWORK_GRACE", "12")
    assert main(["config", "--dsn", "postgresql://me:geheim@host/db", "-o", "json"]) == 0
    out = capsys.readouterr().out
    rows = {row["name"]: row for row in json.loads(out)}
    assert "geheim" not in out and "password=***" in rows["dsn"]["value"]
    assert (rows["grace"]["value"], rows["grace"]["origin"], rows["grace"]["unit"]) == (12.0, "LANEWORK_GRACE", "s")
    assert rows["expiry"]["origin"] == "default"
    assert set(rows) == {item["name"] for item in Settings.describe()}


# -- doctor --------------------------------------------------------------------------------------------------------------


def _levels(cli: Cli) -> dict[str, str]:
    cli("doctor", "-o", "json")
    return {finding["check"]: finding["level"] for finding in json.loads(cli.out)["findings"]}


def test_doctor_finds_what_nobody_serves(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit()
    assert cli("doctor") == 1
    assert "ERROR    types: jobs of type double wait in lane quick, and no worker serves them" in cli.out
    assert "→ start a worker for lane quick whose application declares double" in cli.out
    assert cli("lanes", "drain", "quick") == 0
    assert _levels(cli)["lanes"] == WARNING


def test_doctor_needs_no_schema(empty_database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dsn", empty_database, "doctor"]) == 1
    out = capsys.readouterr().out
    assert "ERROR    schema: " in out and "→ lanework migrate" in out


def test_doctor_sees_a_changed_migration(cli: Cli, sql: Callable[..., Any]) -> None:
    sql("update lanework.migrations set checksum = 'x' where number = 2")
    assert cli("doctor") == 1
    assert "LW-211: 0002_" in cli.out


def test_doctor_sees_a_long_transaction(cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LONG_TRANSACTION", 0.0)
    with psycopg.connect(database, application_name="sleeper") as db:
        db.execute("select 1")
        assert _levels(cli)["transactions"] == WARNING
        assert cli("doctor", "--strict") == 1
        assert "sleeper, idle in transaction" in cli.out and f"pg_terminate_backend({db.info.backend_pid})" in cli.out


HEALTHY = ServerState(180001, "on", "on", "on", "on", False, 0.0, 0.0, 100, 3, 10)


@pytest.mark.parametrize(
    ("check", "state", "skew", "level"),
    [
        (server.version, {}, 0.0, OK),
        (server.version, {"version": 140000}, 0.0, ERROR),
        (server.version, {"standby": True}, 0.0, ERROR),
        (server.durability, {}, 0.0, OK),
        (server.durability, {"fsync": "off"}, 0.0, ERROR),
        (server.durability, {"synchronous_commit": "off"}, 0.0, ERROR),
        (server.durability, {"full_page_writes": "off"}, 0.0, WARNING),
        (server.connections, {}, 0.0, OK),
        (server.connections, {"connections": 90}, 0.0, WARNING),
        (server.connections, {"connections": 96}, 0.0, ERROR),
        (server.notifications, {"notifications": 0.2}, 0.0, WARNING),
        (server.notifications, {"notifications": 0.7}, 0.0, ERROR),
        (server.clock, {}, 1.0, OK),
        (server.clock, {}, -30.0, WARNING),
    ],
)
def test_what_the_doctor_thinks(check: Any, state: dict[str, Any], skew: float, level: str) -> None:
    patient = Patient(None, replace(Settings(), allow_unsafe=False), HEALTHY._replace(**state), skew, 0.01)  # type: ignore[arg-type]
    findings: list[Finding] = list(check(patient))
    assert [one.level for one in findings] == [level]
    assert bool(findings[0].remedy) == (level != OK)


# -- verify --------------------------------------------------------------------------------------------------------------

#: One way to break each invariant; the worker is a dead one.
PLANTED = {
    "one_table": "insert into lanework.jobs_failed select j.*, now(), 'x' from lanework.jobs j",
    "places": "update lanework.jobs set status = 'completed'",
    "running": "update lanework.jobs set status = 'running', worker_id = 77, claim_id = gen_random_uuid()",
    "waiting": "update lanework.jobs set claim_id = gen_random_uuid()",
    "approvals": "update lanework.jobs set status = 'pending'",
    "attempts": "insert into lanework.attempts select id, 9, 1, now(), now(), 'retry' from lanework.jobs",
    "types": "update lanework.jobs set type_id = 999",
    "slots": "insert into lanework.lane_use select id, 77, 2 from lanework.lanes where name = 'quick'",
    "claims": "insert into lanework.claims select 77, 1, gen_random_uuid(), array[id] from lanework.jobs",
}


@pytest.mark.parametrize("check", verify.CHECKS)
def test_verify_finds_what_is_broken(
    check: str, cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "SECOND_LOOK", 0.0)
    submit()
    assert cli("verify") == 0, cli.out
    sql(PLANTED[check])
    assert cli("verify", "-o", "json") == 1
    found = {one["check"]: one["violations"] for one in json.loads(cli.out)["checks"]}
    assert found[check], found
    assert cli("verify") == 1 and f"BROKEN  {verify.CHECKS[check][0]}" in cli.out


def test_verify_forgives_what_heals(
    cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row between two states is no violation: the second look finds it whole."""
    submit()
    sql(PLANTED["waiting"])
    monkeypatch.setattr("lanework.cli.commands.verify.time.sleep", lambda _: sql("update lanework.jobs set claim_id = null"))
    assert cli("verify") == 0


def test_events_of_all_and_of_a_job(cli: Cli, submit: Callable[..., list[int]]) -> None:
    first, second = submit(count=2)
    cli("jobs", "cancel", first)
    found = cli.json("events", "--topic", "job")
    assert [(one["kind"], one["jobs"]) for one in found] == [
        ("submitted", [first]), ("submitted", [second]), ("cancelled", [first]),
    ]  # fmt: skip
    assert cli.json("events", "--topic", "job", "--last", "1") == found[-1:]
    assert cli.json("events", "--topic", "job", "--after", found[0]["cursor"]) == found[1:]
    assert cli.json("events", "--kind", "cancelled", "--after", "0-0") == found[2:]
    assert cli("events", "--job", first, "--follow", "-o", "jsonl") == 0
    assert [json.loads(line)["kind"] for line in cli.out.splitlines() if "operator" not in line] == ["submitted", "cancelled"]
    assert cli("events", "--topic", "job") == 0
    assert re.search(rf"job +submitted +{first}\n", cli.out)
    assert cli("events", "--after", "x") == 2 and "LW-560" in cli.err
    assert cli("events", "--job", 999) == 5


def test_events_are_shown_escaped(cli: Cli, sql: Callable[..., list[tuple[Any, ...]]]) -> None:
    sql("select lanework.tell('mine', 'x', null, jsonb_build_object('text', %s::text))", NASTY.replace("\x00", ""))
    assert cli("events", "--topic", "mine") == 0
    assert not LOUD.search(cli.out)


def test_metrics_table_and_records(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit(count=3)
    assert cli("metrics") == 0
    assert re.search(r"LANE +TYPE +SUBMITTED.*\nquick +double +3 ", cli.out)
    (row,) = cli.json("metrics", "--lane", "quick", "--step", "10m")
    assert (row["submitted"], row["wait"]["p50"], row["failed_by"]) == (3, None, {})
    assert cli("metrics", "--type", "other") == 0 and "nothing happened" in cli.err
    assert cli("metrics", "--step", "90s") == 2 and "whole minutes" in cli.err
