"""`lanework status`, `events` and `metrics`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lanework._store.status import Running
from lanework.cli import screen, text
from lanework.cli.snapshot import Lane, Snapshot
from lanework.reports import WorkerInfo
from tests.cli.commands import Cli


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


def test_metrics_table_and_records(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit(count=3)
    assert cli("metrics") == 0
    assert re.search(r"LANE +TYPE +SUBMITTED.*\nquick +double +3 ", cli.out)
    (row,) = cli.json("metrics", "--lane", "quick", "--step", "10m")
    assert (row["submitted"], row["wait"]["p50"], row["failed_by"]) == (3, None, {})
    assert cli("metrics", "--type", "other") == 0 and "nothing happened" in cli.err
    assert cli("metrics", "--step", "90s") == 2 and "whole minutes" in cli.err
