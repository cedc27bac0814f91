"""`lanework schedules …` and `lanework maintenance …`: what they print where, and with which exit code."""

from __future__ import annotations

import pytest

from lanework import Context, Lanework
from tests.cli.commands import NASTY, Cli
from tests.sql.engine import Engine, connect


@pytest.fixture
def cli(database: str, capsys: pytest.CaptureFixture[str]) -> Cli:
    with Lanework(database) as app:

        @app.job
        def report(ctx: Context, region: str = "all") -> str:
            return region

        app.lanes.list()  # brings the type into the database
    return Cli(database, capsys)


def test_an_operators_day(cli: Cli, database: str) -> None:
    assert cli("schedules", "list") == 0 and cli.out == "" and "no schedules" in cli.err
    assert (
        cli("schedules", "add", "night", "report", "--cron", "30 2 * * *", "--tz", "Europe/Zurich", "--payload", '{"region": "x"}')
        == 0
    )
    assert "30 2 * * * (Europe/Zurich)" in cli.out
    (row,) = cli.json("schedules", "list")
    assert (row["name"], row["payload"], row["overlap"], row["set_by"]) == ("night", {"region": "x"}, "skip", "operator")
    times = cli.json("schedules", "next", "night", "-n", 3)
    assert len(times) == 3 and all("T0" in when for when in times)
    assert cli("schedules", "set", "night", "--every", "2h", "--overlap", "queue", "--jitter", "1m") == 0
    assert "7200" in cli.out and "queue" in cli.out
    assert cli("schedules", "pause", "night", "--reason", NASTY) == 0 and cli.out == "" and "is paused" in cli.err
    assert cli("schedules", "list") == 0 and "paused" in cli.out and "\x1b" not in cli.out
    (tick,) = cli.json("schedules", "run", "night")
    assert tick["outcome"] == "submitted" and tick["job_id"]
    assert cli("schedules", "resume", "night") == 0
    assert cli("schedules", "history", "night", "-o", "jsonl") == 0
    assert len(cli.out.splitlines()) == 2
    assert cli("schedules", "show", "night") == 0 and "every 7200 s" in cli.out and '{"region": "x"}' in cli.out
    assert cli.json("schedules", "show", "night")[0]["history"]
    assert cli("schedules", "list", "-o", "ids") == 0 and cli.out == "night\n"
    assert cli("schedules", "remove", "night") == 0
    with connect(database) as db:
        acts = Engine(db).rows("select distinct act from lanework.audit_log where actor like 'cli:%%' and act like 'schedule.%%'")
    assert len(acts) == 6


WRONG: list[tuple[list[str], int, str]] = [
    (["add", "x", "report", "--cron", "61 * * * *"], 2, "LW-530: cron: the minute field '61'"),
    (["add", "x", "report"], 2, "say when"),
    (["add", "x", "report", "--every", "10m", "--tz", "Mars"], 2, "no time zone is called 'Mars'"),
    (["add", "x", "report", "--every", "10m", "--overlap", "no"], 2, "expected one of skip, queue, cancel"),
    (["set", "x"], 2, "say what to change"),
    (["set", "x", "--every", "10m"], 5, "LW-531: there is no schedule 'x'"),
    (["run", "x"], 5, "LW-531"),
    (["history", "x"], 5, "LW-531"),
    (["reset", "x"], 5, "no code declares"),
]


def test_what_is_wrong(cli: Cli) -> None:
    for words, code, said in WRONG:
        assert cli("schedules", *words) == code, words
        assert cli.out == "" and said in cli.err


def test_maintenance(cli: Cli, database: str) -> None:
    assert cli("maintenance", "list") == 0 and "rollups" in cli.out and "every 60 s" in cli.out
    assert cli("maintenance", "results") == 0 and "nothing has run yet" in cli.err
    assert cli("maintenance", "disable", "rollups") == 0
    rows = {row["name"]: row["enabled"] for row in cli.json("maintenance", "list")}
    assert rows["rollups"] is False and rows["retention"] is True
    assert cli("maintenance", "enable", "rollups") == 0
    assert cli("maintenance", "run", "rollups") == 0
    with connect(database) as db:
        engine = Engine(db)
        fence = engine.one("select lanework.begin_task('rollups', 1, lanework.now())")
        engine.rows("select lanework.end_task('rollups', %s, 'failed', 'no disk', '{}')", fence)
    (run,) = cli.json("maintenance", "results", "rollups")
    assert (run["outcome"], run["error"]) == ("failed", "no disk") and run["asked_by"].startswith("cli")
    assert cli("maintenance", "results", "nothing") == 5 and "LW-533" in cli.err
    cli("doctor")
    assert "the last run of task rollups failed: no disk" in cli.out


def test_the_doctor_sees_schedules_in_trouble(cli: Cli, database: str) -> None:
    cli("schedules", "add", "sick", "report", "--every", "10m")
    cli("schedules", "add", "late", "report", "--every", "10m")
    with connect(database) as db:
        engine = Engine(db)
        for _ in range(5):
            engine.rows("select lanework.schedule_erred('sick', 'no luck')")
        engine.rows("update lanework.schedules set next_at = lanework.now() - interval '5 min' where name = 'late'")
    assert cli("doctor") == 1
    assert "schedule sick is disabled: 5 errors in a row, the last: no luck" in cli.out
    assert "schedule late was due at" in cli.out
    assert cli("schedules", "list") == 0 and "DISABLED" in cli.out
