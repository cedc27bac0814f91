"""What a job says: in order, whole lines, per attempt, bounded, without the secrets."""

from __future__ import annotations

import pytest

from tests.inside.app import SECRET
from tests.inside.house import House

SAID = [
    ("stdout", "one"), ("stdout", "two"), ("stdout", "lines"), ("info", "three\nlines •••"), ("stderr", "four •••"),
    ("warning", "somebody: five •••"), ("stdout", "six, no end"),
]  # fmt: skip


@pytest.mark.parametrize("where", ["thread", "async", "process"])
def test_order_lines_attempts_and_secrets(house: House, where: str) -> None:
    """Seen red: without the mask in `Recorder`."""
    job = house.run(f"talks_{where}")
    assert (job.status, job.attempt, job.progress_message) == ("completed", 2, "half of •••")
    entries = house.app.logs(job.id)
    for attempt in (1, 2):
        said = [(entry.stream, entry.text) for entry in entries if entry.attempt == attempt]
        if where == "process":  # what a child prints comes from its file descriptors, in pieces
            assert streams(said) == streams(SAID)
        else:
            assert said == SAID
    (lost,) = house.app.attempts(job.id)
    assert lost.error is not None and lost.error.endswith("lost •••")
    assert lost.traceback is not None and "ConnectionError: lost •••" in lost.traceback


def streams(said: list[tuple[str, str]]) -> dict[str, str]:
    return {stream: "\n".join(text for name, text in said if name == stream) for stream in sorted({name for name, _ in said})}


@pytest.mark.parametrize("where", ["thread", "process"])
def test_a_secret_that_a_handler_registers(house: House, where: str) -> None:
    """In whatever process. Seen red: without the `share` of the child, and without the mask of progress data."""
    job = house.run(f"learns_{where}")
    assert job.status == "failed" and job.error is not None and job.error.endswith("raised •••")
    said = "\n".join(entry.text for entry in house.app.logs(job.id))
    assert all(f"{word} •••" in said for word in ("printed", "logged")) and f"of-job-{job.id}" not in said
    assert where == "thread" or "written •••" in said
    (shown,) = house.sql.rows("select message, data from lanework.progress where job_id = %s", job.id)
    assert shown == {"message": "told •••", "data": {"keys": ["•••", {"deep": "a •••"}], "•••": 1}}
    for table in ("jobs_failed", "attempts"):
        found = house.sql.one(f"select count(*) from lanework.{table} t where t::text like %s", f"%of-job-{job.id}%")
        assert (table, found) == (table, 0)


@pytest.mark.parametrize("name", ["fails_with_secret", "cancels_with_secret"])
def test_outcomes_have_no_secrets(house: House, name: str) -> None:
    job = house.run(name)
    if job.status == "failed":
        assert job.error == "because of •••"
    else:
        assert house.sql.one("select reason from lanework.jobs_done where id = %s", job.id) == "because of •••"


def test_no_table_has_the_secret(house: House) -> None:
    """Promise 25: every text that the jobs of these tests left behind."""
    for name in ("talks_thread", "fails_with_secret", "cancels_with_secret"):
        house.run(name)
    house.run("map_thread", [1], bad=[1])
    tables = ("jobs_done", "jobs_failed", "attempts", "logs", "progress", "item_errors", "steps")
    for table in tables:
        found = house.sql.one(f"select count(*) from lanework.{table} t where t::text like %s", f"%{SECRET}%")
        assert (table, found) == (table, 0)


def test_an_attempt_may_say_so_much(house: House) -> None:
    """Here 500 entries, of 8 KiB at most. Seen red: without the count."""
    job = house.run("chatters", 600)
    entries = house.app.logs(job.id)
    assert [entry.text for entry in entries[:500]] == [f"line {n}" for n in range(500)]
    assert [(entry.stream, entry.text) for entry in entries[500:]] == [
        ("lanework", "… more than 500 entries; the rest of this attempt is dropped")
    ]
    (long,) = house.app.logs(house.run("chatters", 0).id)
    assert 8000 < len(long.text) < 8300
