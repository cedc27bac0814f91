"""Schedules from the outside: declared, changed, fired by real workers, refused when wrong."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from lanework import Context, Lanework
from lanework.errors import ConfigError, InvalidJob, InvalidSchedule, ScheduleExists, ScheduleNotFound
from lanework.testing import Clock
from tests.pace import bound
from tests.schedules.reports import application, ticks, until
from tests.sql.engine import Engine

# -- firing ------------------------------------------------------------------------------------------------------------


def test_a_seconds_cron_fires_within_a_second_of_its_time(app: Lanework) -> None:
    async def main() -> None:
        async with app, app.worker():
            await app.schedules.acreate("often", "report", cron="* * * * * *", payload={"region": "ch"}, overlap="queue")
            found = await ticks(app, "often", *["completed"] * 3)
            assert (await app.aget(found[0].job_id or 0)).result == "ch"
        late = sorted((one.decided_at or one.tick) - one.tick for one in found)
        assert late[len(late) // 2] < timedelta(seconds=bound(2))
        assert [one.tick.microsecond for one in found] == [0] * len(found)
        assert all(b.tick - a.tick == timedelta(seconds=1) for a, b in pairwise(found))

    asyncio.run(main())


def test_declared_in_code_and_registered_at_a_workers_start(database: str) -> None:
    with application(database) as app:
        app.schedule("by-hand", app.job("other")(lambda ctx, n: n), 3, every=timedelta(hours=1), tz="Asia/Kolkata")

        @app.schedule("nightly", cron="0 3 * * *", tz="Europe/Zurich", payload={"n": 2}, overlap="queue", tags=["x"])
        @app.job
        def summary(ctx: Context, n: int) -> int:
            return n

        @app.schedule("plain", every=5)
        async def plain(ctx: Context) -> str:
            return "ok"

        assert app.schedules.list() == []  # a client declares nothing

        async def main() -> None:
            async with app:
                await first()
                await second()

        async def first() -> None:
            async with app.worker():
                rows = {one.name: one for one in await app.schedules.alist()}
                assert set(rows) == {"by-hand", "nightly", "plain"}
                assert (rows["by-hand"].payload, rows["by-hand"].every, rows["by-hand"].declared) == ({"n": 3}, 3600.0, True)
                nightly = rows["nightly"]
                assert (nightly.type, nightly.payload, nightly.cron, nightly.tz) == (
                    "summary",
                    {"n": 2},
                    "0 3 * * *",
                    "Europe/Zurich",
                )
                assert (nightly.overlap, nightly.tags, nightly.set_by, nightly.enabled) == ("queue", ("x",), "code", True)
                await app.schedules.aset("nightly", cron="0 4 * * *", by="ada")
                await app.schedules.aremove("by-hand", by="ada")

        async def second() -> None:
            async with app.worker():
                assert (await app.schedules.aget("nightly")).cron == "0 4 * * *"
                assert [one.name for one in await app.schedules.alist()] == ["nightly", "plain"]
                await app.schedules.areset("by-hand")
                assert (await app.schedules.aget("by-hand")).set_by == "code"

        asyncio.run(main())


def test_conditions_sync_and_async(database: str) -> None:
    answers: list[Any] = [False, {"region": "de"}, True]

    with application(database) as app:

        @app.condition
        def anything(ctx: Context) -> Any:
            return answers.pop(0)

        async def broken(ctx: Context) -> bool:
            raise OSError("cannot look")

        app.schedule("launcher", app.job("launched")(lambda ctx, region="ch": region), cron="0 0 1 1 *", condition="anything")
        app.schedule("sick", app.job("never")(lambda ctx: None), cron="0 0 1 1 *", condition=broken)

        async def main() -> None:
            async with app, app.worker():
                for n in range(3):
                    assert (await app.schedules.arun_now("launcher")).outcome == "asking"
                    await ticks(app, "launcher", *["skipped", "completed", "completed"][: n + 1])
                found = list(reversed(await app.schedules.ahistory("launcher")))
                assert found[0].reason == "condition said no"
                assert [(await app.aget(one.job_id or 0)).result for one in found[1:]] == ["de", "ch"]
                for n in range(1, 6):
                    await app.schedules.arun_now("sick", by="ada")
                    await ticks(app, "sick", *["error"] * n)
                sick = await app.schedules.aget("sick")
                assert not sick.enabled and "its condition failed" in (sick.disabled_because or "")
                health = await app.ahealth()
                assert not health["ok"] and [one["name"] for one in health["alarms"]] == ["sick"]
                assert (await app.schedules.arun_now("sick", force=True)).outcome == "submitted"

        asyncio.run(main())


def test_jobs_that_fail_disable_their_schedule(app: Lanework) -> None:
    @app.job(max_tries=1)
    def doomed(ctx: Context) -> None:
        raise ValueError("no data")

    async def main() -> None:
        async with app, app.worker():
            await app.schedules.acreate("bad", doomed, cron="0 0 1 1 *")
            for _ in range(5):
                tick = await app.schedules.arun_now("bad")
                await app._await(tick.job_id or 0, 30)
            await until(lambda: _disabled("bad"))

    async def _disabled(name: str) -> bool:
        return not (await app.schedules.aget(name)).enabled

    asyncio.run(main())
    with app:
        found = app.schedules.get("bad")
        assert found.errors == 5
        assert found.disabled_because == "5 errors in a row, the last: its job failed: unknown: ValueError: no data"


def test_missed_ticks_follow_the_policy_after_downtime(app: Lanework, sql: Engine) -> None:
    """Nobody worked for two hours."""
    app.schedules.create("none", "report", every=600, misfire="skip", overlap="queue")
    app.schedules.create("one", "report", every=600, misfire="one")
    app.schedules.create("all", "report", every=600, misfire="all", overlap="queue")
    app.schedules.create("many", "report", cron="* * * * * *", misfire="all", overlap="queue")
    Clock(app).advance(hours=2, seconds=65)

    async def main() -> None:
        async with app, app.worker():
            await until(lambda: _fired(4))

    async def _fired(count: int) -> bool:
        return bool(sql.one("select count(distinct schedule) from lanework.ticks") == count)

    asyncio.run(main())

    def count(name: str, outcome: str) -> int:
        return int(sql.one("select count(*) from lanework.ticks where schedule = %s and outcome = %s", name, outcome))

    with app:
        assert (count("none", "submitted"), count("none", "missed")) == (0, 12)
        assert (count("one", "submitted"), count("one", "missed")) == (1, 11)
        assert count("all", "submitted") == 12
        (rest,) = [one for one in app.schedules.history("many", limit=1000) if one.until]
        assert rest.outcome == "missed" and rest.count is None
        assert 100 <= count("many", "submitted") < 130  # the newest hundred, and what came meanwhile


# -- verbs -------------------------------------------------------------------------------------------------------------


def test_an_operators_day(app: Lanework) -> None:
    made = app.schedules.create("daily", "report", cron="30 2 * * *", tz="Europe/Zurich", by="ada")
    assert made.changed["cron"] == (None, "30 2 * * *")
    with pytest.raises(ScheduleExists, match="'daily' already"):
        app.schedules.create("daily", "report", every=60)
    times = app.schedules.next_times("daily")
    assert len(times) == 5 and all((t.hour, t.minute) == (2, 30) or t.minute == 0 for t in times)
    assert str(times[0].tzinfo) == "Europe/Zurich"
    changed = app.schedules.set("daily", every=90, jitter=30, by="bob")
    assert set(changed.changed) == {"cron", "every_s", "jitter_s"}
    info = app.schedules.get("daily")
    assert (info.every, info.cron, info.when, info.changed_by) == (90.0, None, "every 90 s", "bob")
    app.schedules.pause("daily", by="bob", reason="holidays")
    assert (app.schedules.get("daily").enabled, app.schedules.get("daily").disabled_because) == (False, "holidays")
    ran = app.schedules.run_now("daily", by="bob")
    assert ran.outcome == "submitted" and app.get(ran.job_id or 0).type == "report"
    assert app.schedules.run_now("daily").outcome == "skipped"
    assert app.schedules.run_now("daily", force=True).outcome == "submitted"
    app.schedules.resume("daily", by="bob")
    history = app.schedules.history("daily")
    assert [one.outcome for one in history if one.asked_by] == ["scheduled", "skipped", "scheduled"]
    app.schedules.remove("daily", by="bob")
    with pytest.raises(ScheduleNotFound):
        app.schedules.get("daily")
    assert app.schedules.list() == []


@pytest.mark.parametrize(
    ("values", "field", "said"),
    [
        ({"cron": "61 * * * *"}, "cron", "the minute field '61' of '61 * * * *'"),
        ({"cron": "* * * *"}, "cron", "got 4 in '* * * *'"),
        ({"cron": "0 0 30 2 *"}, "cron", "'0 0 30 2 *'"),
        ({"cron": "0 0 * * *", "every": 5}, "cron", "one of them, got both"),
        ({}, "cron", "say when"),
        ({"every": 0.5}, "every", "1 s to 366 days, got 0.5 s"),
        ({"every": timedelta(days=400)}, "every", "1 s to 366 days"),
        ({"every": "5"}, "every", "expected seconds or a timedelta, got '5'"),
        ({"every": 60, "tz": "Mars/Olympus"}, "tz", "no time zone is called 'Mars/Olympus'"),
        ({"every": 60, "tz": "../etc/passwd"}, "tz", "no time zone"),
        ({"every": 60, "overlap": "maybe"}, "overlap", "expected one of skip, queue, cancel, got 'maybe'"),
        ({"every": 60, "misfire": "two"}, "misfire", "expected one of skip, one, all, got 'two'"),
        ({"every": 60, "jitter": 61}, "jitter", "less than every"),
        ({"every": 60, "jitter": -1}, "jitter", "0 to 86400 seconds"),
        ({"every": 60, "payload": [1]}, "payload", "a dict of arguments"),
        ({"every": 60, "priority": 5000}, "priority", "1000"),
        ({"every": 60, "crom": "x"}, "crom", "no such value"),
        ({"every": 60, "enabled": 1}, "enabled", "True or False"),
    ],
)
def test_bad_input_is_named(values: dict[str, Any], field: str, said: str) -> None:
    """Before anything reaches the database."""
    app = application("postgresql:///nowhere")
    with pytest.raises(InvalidSchedule) as caught:
        app.schedules.create("x", "report", **values)
    assert said in str(caught.value) and caught.value.field == field
    with pytest.raises(InvalidSchedule) as caught:
        app.schedule("x", app.job("j")(lambda ctx: None), **values)


def test_names_and_payloads_are_checked(app: Lanework) -> None:
    with pytest.raises(InvalidSchedule, match="name: expected 1 to 100"):
        app.schedules.create("no spaces", "report", every=60)
    with pytest.raises(InvalidJob, match="no argument 'regoin'"):
        app.schedules.create("x", "report", every=60, payload={"regoin": "x"})
    with pytest.raises(InvalidJob, match="needs the argument 'n'"):
        app.schedule("x", app.job("needs")(lambda ctx, n: n), every=60)
    app.schedule("twice", app.job("j1")(lambda ctx: None), every=60)
    with pytest.raises(ConfigError, match="two schedules are named 'twice'"):
        app.schedule("twice", app.job("j2")(lambda ctx: None), every=60)


def test_a_row_that_nobody_checked_keeps_no_other_waiting(app: Lanework, sql: Engine) -> None:
    app.schedules.create("good", "report", cron="* * * * * *", overlap="queue")
    sql.rows("insert into lanework.schedules (name, type, cron) values ('a-bad-one', 'report', 'not a cron at all')")

    async def main() -> None:
        async with app, app.worker():
            await ticks(app, "good", "completed")
            bad = await app.schedules.aget("a-bad-one")
            assert bad.errors >= 1 and bad.last_error

    asyncio.run(main())


def test_next_times_say_what_the_clock_will_do(app: Lanework, sql: Engine) -> None:
    app.schedules.create("night", "report", cron="30 2 * * *", tz="Europe/Zurich")
    sql.rows("update lanework.schedules set last_tick = '2040-03-24T12:00Z'")  # later than now
    days = [(one.day, one.hour, one.minute) for one in app.schedules.next_times("night", 2)]
    assert days == [(25, 3, 0), (26, 2, 30)]
    with pytest.raises(InvalidSchedule, match="count: expected 1 to 1000"):
        app.schedules.next_times("night", 0)
    assert datetime(2040, 3, 25, 1, tzinfo=UTC) == app.schedules.next_times("night", 1)[0]
