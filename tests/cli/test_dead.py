"""`lanework dead …` and `lanework jobs retry`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lanework import Context, Lanework
from tests.cli.commands import LOUD, NASTY, Cli
from tests.sql.engine import Engine, connect

Die = Callable[..., list[int]]


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:
    with connect(database) as db:
        yield Engine(db)


@pytest.fixture
def die(database: str, engine: Engine) -> Iterator[Die]:
    """So many dead letters, without anybody who worked them."""
    with Lanework(database) as app:

        @app.job(lane="quick")
        def double(ctx: Context, n: int) -> int:
            return 2 * n

        worker = None

        def die(count: int = 1, error: str = "no key 'a'", error_class: str = "unknown") -> list[int]:
            nonlocal worker
            ids = [handle.id for handle in double.submit_many([(n,) for n in range(count)])]
            worker = worker or engine.worker()
            lane = engine.one("update lanework.lanes set max_slots = null where name = 'quick' returning id")
            kind = engine.one("select id from lanework.job_types where name = 'double'")
            for claim in engine.claim(worker, lane, kind, want=count):
                engine.settle(worker, claim, action="fail", error=error, error_class=error_class, traceback=f"Traceback: {error}")
            return ids

        yield die


def test_groups_in_every_form(cli: Cli, die: Die) -> None:
    assert cli("dead", "list") == 0
    assert (cli.out, cli.err) == ("", "no dead letters\n")
    first, other = die(3, error="no key 'a'"), die(error=NASTY, error_class="permanent")
    assert cli("dead", "list") == 0
    assert "no key <text>" in cli.out and not LOUD.search(cli.out)
    groups = {one["error_class"]: one for one in cli.json("dead", "list")}
    assert (groups["unknown"]["count"], groups["permanent"]["sample"]) == (3, other[0])
    assert cli("dead", "list", "--type", "double", "--error-class", "unknown", "-o", "ids") == 0
    name = cli.out.strip()
    assert [one["id"] for one in cli.json("dead", "list", name, "--jobs")] == first
    assert cli("dead", "list", "--jobs", "-n", "2", "--after", first[0]) == 0
    assert f"--after {first[2]}" in cli.err
    assert cli("dead", "list", "--owner", "ada") == 2
    assert cli("dead", "list", "nope") == 5
    assert cli("dead", "show", name, groups["permanent"]["fingerprint"]) == 0
    assert "Traceback: no key 'a'" in cli.out and not LOUD.search(cli.out)
    assert cli.json("dead", "show", name)[0]["sample_attempts"][0]["error"] == "no key 'a'"


def test_a_group_goes_back(cli: Cli, die: Die, engine: Engine) -> None:
    die(3)
    (group,) = [one["fingerprint"] for one in cli.json("dead", "list")]
    assert cli("dead", "retry", group, "--dry-run") == 0
    assert "3 dead letters would be sent back" in cli.err
    (redrive,) = cli.json("dead", "retry", group, "--per-minute", "5")
    assert (redrive["state"], redrive["moved"], redrive["per_minute"]) == ("canary", 1, 5)
    assert redrive["by"].startswith("cli")
    assert cli("dead", "retry", group) == 1
    assert "LW-513" in cli.err
    assert cli("dead", "redrives", "--active") == 0
    assert "1 of 3" in cli.out
    assert cli.json("dead", "redrives", redrive["id"])[0]["waiting"] == 1
    assert cli("dead", "redrives", "--stop", redrive["id"], "--reason", "enough") == 0
    assert "enough" in cli.out
    assert cli("dead", "redrives", "--stop", redrive["id"]) == 1
    assert cli("dead", "retry", "--type", "double") == 2  # nobody to ask
    assert cli("dead", "retry", "--type", "double", "--yes", "--no-canary") == 0
    assert engine.one("select count(*) from lanework.jobs") == 3


def test_jobs_go_back(cli: Cli, die: Die, engine: Engine) -> None:
    ids = die(4)
    assert cli.json("jobs", "retry", ids[0], "--max-age", "1h") == [{"id": ids[0], "status": "approved"}]
    assert engine.job(ids[0])["deadline"] is not None
    assert cli("jobs", "retry", ids[0]) == 1
    assert "LW-510" in cli.err and "approved" in cli.err
    assert cli("jobs", "retry", 10**9) == 5
    assert cli("jobs", "retry", *ids, "--dry-run") == 0
    assert "3 jobs would be sent back" in cli.err and "1 job of these not failed" in cli.err
    (done,) = cli.json("jobs", "retry", *ids[:2])
    assert (done["kind"], done["state"], done["done"]) == ("retry", "done", 1)
    assert "1 job of these not failed" in cli.err
    assert cli("jobs", "retry") == 2
    assert cli("jobs", "retry", "--status", "running") == 2
    assert cli("jobs", "retry", "--lane", "quick") == 2, "nobody to ask"
    assert cli("dead", "archive", "--id", ids[3]) == 0
    (done,) = cli.json("jobs", "retry", "--lane", "quick", "--yes", "--max-age", "1h", "--reason", "mended")
    assert (done["done"], done["skipped"], done["reason"]) == (1, 1, "mended"), "what is archived stays there"
    assert engine.job(ids[2])["deadline"] is not None
    assert engine.one("select count(*) from lanework.jobs") == 3
    acts = [row["act"] for row in engine.rows("select act from lanework.audit_log where act ~ 'retry|operation' order by id")]
    assert acts == ["job.retry", "operation.start", "operation.start"]


def test_the_archive(cli: Cli, die: Die, engine: Engine) -> None:
    ids = die(3)
    (group,) = [one["fingerprint"] for one in cli.json("dead", "list")]
    assert cli("dead", "archive") == 2
    assert cli.json("dead", "archive", "--id", ids[0]) == [{"which": "by filter", "archived": 1}]
    assert cli("dead", "archive", group, "--dry-run") == 0
    assert "2 dead letters would be archived" in cli.err
    assert cli.json("dead", "archive", group, "--reason", "known") == [{"which": group, "archived": 2}]
    assert cli("dead", "archive", group) == 5
    assert cli("jobs", "show", ids[0]) == 0
    assert engine.one("select count(*) from lanework.audit_log where act = 'dead.archive'") == 2


def test_rules(cli: Cli, die: Die) -> None:
    die()
    (group,) = [one["fingerprint"] for one in cli.json("dead", "list")]
    assert cli("dead", "rule") == 0
    assert "no rules" in cli.err
    (rule,) = cli.json("dead", "rule", group, "permanent")
    assert (rule["type"], rule["pattern"], rule["error_class"]) == ("double", "no key <text>", "permanent")
    assert cli.json("dead", "list")[0]["rule"] == "permanent"
    (other,) = cli.json("dead", "rule", "throttled", "--pattern", "slow%")
    assert other["type"] is None
    assert [one["id"] for one in cli.json("dead", "rule")] == [rule["id"], other["id"]]
    assert cli("dead", "rule", group) == cli("dead", "rule", group, "budget") == 2
    assert cli("dead", "rule", "--remove", rule["id"]) == 0
    assert cli("dead", "rule", "--remove", rule["id"]) == 5


def test_webhooks(cli: Cli, die: Die, engine: Engine, tmp_path: Path) -> None:
    assert cli("dead", "webhooks") == 0
    assert "nobody is told" in cli.err
    secret = tmp_path / "secret"
    secret.write_text("a secret of sixteen\n")
    (hook,) = cli.json("dead", "webhooks", "--set", "ops", "https://x.example/hook", "--secret-file", secret, "--every", "5")
    assert (hook["name"], hook["signed"], hook["every"], hook["served"]) == ("ops", True, 5, False)
    assert "no running worker can send to ops" in cli.err
    die()
    engine.one("select lanework.gather_notifications()")
    assert cli("dead", "webhooks", "--messages") == 0
    assert "pending" in cli.out
    assert cli("dead", "webhooks", "--disable", "ops") == 0
    assert cli("dead", "webhooks", "--set", "ops", "ftp://x") == 2
    assert cli("dead", "webhooks", "--set", "x", "http://x", "--secret-file", tmp_path / "none") == 2
    assert cli("dead", "webhooks", "--enable", "ops", "--remove", "ops") == 2
    assert cli("dead", "webhooks", "--remove", "ops") == 0
    assert cli("dead", "webhooks", "--remove", "ops") == 5
    assert "sixteen" not in str(engine.rows("select * from lanework.audit_log"))
