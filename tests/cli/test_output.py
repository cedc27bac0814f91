"""What is printed: in every form, and safe for a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lanework.cli import text
from lanework.cli.output import as_json
from tests.cli.commands import LANEWORK, LOUD, NASTY, Cli, run


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


def test_events_are_shown_escaped(cli: Cli, sql: Callable[..., list[tuple[Any, ...]]]) -> None:
    sql("select lanework.tell('mine', 'x', null, jsonb_build_object('text', %s::text))", NASTY.replace("\x00", ""))
    assert cli("events", "--topic", "mine") == 0
    assert not LOUD.search(cli.out)
