"""What an operator does by command: lanes, cancels, waits, priorities, drains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.commands import Cli


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
