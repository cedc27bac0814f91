"""Lanes as rows that operators change while everything runs, against real PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from lanework import ConfigError, Context, InvalidLane, Lanework
from lanework.errors import LaneInUse, LaneNotFound
from lanework.lanes import from_environment
from tests.processes.database_bodies import Bodies, counted

POLL_MS = 200


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database, notify=False) as app:  # by polling alone: a hint must not be what makes a change act
        yield app


# -- values ------------------------------------------------------------------------------------------------------------------


def test_a_new_lane_starts_with_the_documented_values(app: Lanework) -> None:
    app.lanes.create("new", by="ada")
    lane = app.lanes.get("new")
    assert (lane.max_slots, lane.worker_slots, lane.poll_interval_ms, lane.stale_timeout_minutes) == (1, None, 5000, 30)
    assert (lane.enabled, lane.job_types, lane.set_by, lane.running) == (True, (), "ada", 0)
    with pytest.raises(InvalidLane, match="there is a lane 'new' already"):
        app.lanes.create("new")


BOUNDS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], str]] = {
    "max_slots": ((0, 10_000, None), (-1, 10_001, 1.5, True, "3"), "0 to 10000 or none"),
    "worker_slots": ((0, 10_000, None), (-1, 10_001), "0 to 10000 or none"),
    "poll_interval_ms": ((50, 120_000), (49, 120_001, None), "50 to 120000"),
    "stale_timeout_minutes": ((1, 1440), (0, 1441, None), "1 to 1440"),
}


def test_bounds(app: Lanework) -> None:
    app.lanes.create("a")
    for field, (allowed, refused, bound) in BOUNDS.items():
        for value in allowed:
            app.lanes.set("a", **{field: value})
            assert getattr(app.lanes.get("a"), field) == value
        before = app.lanes.get("a")
        for value in refused:
            with pytest.raises(InvalidLane) as caught:
                app.lanes.set("a", **{field: value})
            assert caught.value.field == field
            assert bound in str(caught.value)
            assert repr(value) in str(caught.value)
        assert app.lanes.get("a") == before
    wrongs: list[dict[str, Any]] = [
        {"slots": 3},
        {"enabled": 1},
        {"job_types": "echo"},
        {"job_types": 5},
        {"job_types": ["nope"]},
    ]
    for wrong in wrongs:
        with pytest.raises(InvalidLane) as caught:
            app.lanes.set("a", **wrong)
        assert caught.value.field in wrong
    for name in ("", "A", "9", "a b", "a" * 64, "ü"):
        with pytest.raises(InvalidLane, match="name"):
            app.lanes.create(name)
    with pytest.raises(InvalidLane):
        app.lane("b", max_slots=-1)


def test_the_table_itself_has_the_bounds(app: Lanework, database: str) -> None:
    app.lanes.list()
    with psycopg.connect(database, autocommit=True) as db:
        for field, (_, refused, _) in BOUNDS.items():
            for value in refused:
                if type(value) is int:
                    with pytest.raises(psycopg.errors.CheckViolation):
                        db.execute(f"update lanework.worker_lanes set {field} = {value}".encode())


def test_a_change_says_what_it_changed(app: Lanework) -> None:
    app.lanes.create("a", max_slots=3)
    assert app.lanes.set("a", max_slots=5, poll_interval_ms=5000).changed == {"max_slots": (3, 5)}
    assert app.lanes.drain("a").changed == {"enabled": (True, False)}
    assert app.lanes.drain("a").changed == {}
    assert app.lanes.resume("a").changed == {"enabled": (False, True)}
    assert app.lanes.set("a", max_slots=None).changed == {"max_slots": (5, None)}
    for act in (lambda: app.lanes.get("z"), lambda: app.lanes.set("z", max_slots=1), lambda: app.lanes.remove("z")):
        with pytest.raises(LaneNotFound, match="z"):
            act()


# -- who decides -------------------------------------------------------------------------------------------------------------


def test_code_and_environment_give_first_values_only(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Red with `on conflict do update` in lanework.register.
    monkeypatch.setenv("LANEWORK_LANE_A_SLOTS", "7")
    monkeypatch.setenv("LANEWORK_LANE_A_POLL_INTERVAL_MS", "70")
    monkeypatch.setenv("LANEWORK_LANE_ENV_ONLY_WORKER_SLOTS", "none")

    def start(slots: int) -> Lanework:
        app = Lanework(database)
        app.lane("a", max_slots=slots, worker_slots=slots)
        app.lane("b", max_slots=slots)
        app.job("x", lane="a")(_nothing)
        app.job("y", lane="named")(_nothing)
        app.lanes.list()
        return app

    with start(3) as app:
        a, b = app.lanes.get("a"), app.lanes.get("b")
        assert (a.max_slots, a.worker_slots, a.poll_interval_ms, a.set_by) == (7, 3, 70, "environment")
        assert (b.max_slots, b.set_by, app.lanes.get("named").max_slots) == (3, "code", 1)
        assert app.lanes.get("env_only").set_by == "environment"
        app.lanes.set("a", by="ada", max_slots=1)
        app.lanes.set("b", by="ada", job_types=["x"])
    monkeypatch.setenv("LANEWORK_LANE_A_SLOTS", "9")
    with start(4) as app:
        a, b = app.lanes.get("a"), app.lanes.get("b")
        assert (a.max_slots, a.worker_slots, a.set_by, a.job_types) == (1, 3, "ada", ())
        assert (b.max_slots, b.set_by, b.job_types) == (3, "ada", ("x",))  # the operator's choice of lane stays, too


async def _nothing(ctx: Context) -> None: ...


def test_the_environment_is_checked() -> None:
    assert from_environment({"LANEWORK_LANE_A_B_SLOTS": "3", "LANEWORK_LANE_A_B_ENABLED": "off", "LANEWORK_DSN": "x"}) == {
        "a_b": {"set_by": "environment", "max_slots": 3, "enabled": False}
    }
    for key, value in (("SLOTS", "three"), ("SLOTS", "-1"), ("POLL_INTERVAL_MS", "none"), ("ENABLED", "maybe")):
        with pytest.raises(ConfigError, match=f"LANEWORK_LANE_A_{key}"):
            from_environment({f"LANEWORK_LANE_A_{key}": value})


def test_removing_asks_for_the_lane_that_takes_the_types(app: Lanework) -> None:
    job = app.job("x", lane="a")(_nothing)
    app.lanes.list()
    handle = job.submit()
    with pytest.raises(LaneInUse, match=r"'a' has job types \(x\)"):
        app.lanes.remove("a")
    for target in ("a", "nowhere"):
        with pytest.raises(LaneNotFound, match="move_to"):
            app.lanes.remove("a", move_to=target)
    with pytest.raises(LaneInUse, match="'default' takes the types"):
        app.lanes.remove("default", move_to="a")
    app.lanes.create("b")
    app.lanes.remove("a", move_to="b")
    assert [lane.name for lane in app.lanes.list()] == ["b", "default"]
    assert (app.lanes.get("b").job_types, handle.info().lane) == (("x",), "b")
    with Lanework(app.settings.dsn) as next_start:  # the code still says so; the operator has decided
        next_start.job("x", lane="a")(_nothing)
        assert [lane.name for lane in next_start.lanes.list()] == ["b", "default"]
    app.lanes.set("b", job_types=[])  # a type that is taken out of its lane goes to the default one
    app.lanes.remove("b")
    assert (app.lanes.get("default").job_types, handle.info().lane) == (("x",), "default")


# -- while a worker runs -----------------------------------------------------------------------------------------------------


def test_changes_act_within_one_poll(app: Lanework) -> None:
    async def main() -> None:
        async with app:
            bodies = Bodies(app, "x", lane="a")
            app.lane("a", max_slots=1, poll_interval_ms=POLL_MS)
            async with app.worker() as worker:
                counted(worker)
                await bodies.jobs["x"].asubmit_many([()] * 20)
                await bodies.until(x=1)
                await app.lanes.aset("a", max_slots=3)
                await bodies.until(x=3)
                await app.lanes.aset("a", max_slots=None, worker_slots=5)
                await bodies.until(x=5)
                await app.lanes.aset("a", max_slots=2)  # lowering stops nobody
                await bodies.stay(worker, x=5)
                assert (await app.lanes.aget("a")).running == 5
                await app.lanes.aset("a", worker_slots=6, max_slots=0)
                await bodies.stay(worker, x=5)  # 0: none start
                await app.lanes.aset("a", max_slots=None, worker_slots=0)
                await bodies.stay(worker, x=5)
                await app.lanes.aset("a", worker_slots=7)
                await bodies.until(x=7)
                await app.lanes.adrain("a")
                bodies.let_go()
                await bodies.until(x=0)
                bodies.close()
                await bodies.stay(worker, x=0)  # drained: what was inside has finished, and nothing more starts
                assert len(await app.alist(status="approved")) == 13
                await app.lanes.aresume("a")
                await bodies.until(x=7)
                assert bodies.most["x"] == 7
                bodies.let_go()

    asyncio.run(main())


def test_a_type_moves_between_lanes_and_its_slots_with_it(app: Lanework) -> None:
    async def main() -> None:
        async with app:
            bodies = Bodies(app, "x", "y", lane="a")
            app.lane("a", max_slots=2, poll_interval_ms=POLL_MS)
            app.lane("b", max_slots=3, poll_interval_ms=POLL_MS)
            async with app.worker() as worker:
                counted(worker)
                await bodies.jobs["x"].asubmit_many([()] * 10)
                await bodies.until(x=2)
                await app.lanes.aset("b", job_types=["x"])
                await bodies.until(x=5)  # two still belong to a, three to b
                await bodies.jobs["y"].asubmit_many([()] * 3)
                await bodies.stay(worker, x=5, y=0)  # a's slots are taken by what it started
                running = await app.alist(status="running")
                assert sorted(info.lane for info in running) == ["a", "a", "b", "b", "b"]
                await app.lanes.aremove("b", move_to="a")
                bodies.let_go()
                async with asyncio.timeout(90):
                    while await app.alist(status=["approved", "running"]):
                        await asyncio.sleep(0.02)
                assert bodies.most["y"] <= 2

    asyncio.run(main())


def test_a_types_own_concurrency_beside_its_lanes_slots(app: Lanework) -> None:
    async def main() -> None:
        async with app:
            app.lane("a", max_slots=6, poll_interval_ms=POLL_MS)
            narrow = Bodies(app, "narrow", lane="a", concurrency=2)
            wide = Bodies(app, "wide", lane="a")
            async with app.worker() as one, app.worker() as two:
                counted(one)
                counted(two)
                await narrow.jobs["narrow"].asubmit_many([()] * 8)
                await wide.jobs["wide"].asubmit_many([()] * 8)
                await wide.until(wide=4)
                await narrow.stay(one, narrow=2)  # older jobs of a full type do not stand in the way of others
                await narrow.stay(two, narrow=2)
                narrow.let_go()
                wide.let_go()
                async with asyncio.timeout(90):
                    while await app.alist(status=["approved", "running"]):
                        await asyncio.sleep(0.02)
                assert (narrow.most["narrow"], wide.most["wide"] <= 6) == (2, True)

    asyncio.run(main())


def test_types_that_nobody_serves_are_an_alarm(app: Lanework) -> None:
    async def main() -> None:
        async with app:
            app.lane("a", max_slots=None, poll_interval_ms=POLL_MS)
            served, other = app.job("x", lane="a")(_nothing), app.job("y", lane="elsewhere")(_nothing)
            await other.asubmit()
            await served.asubmit()
            health = await app.ahealth()
            assert (health["ok"], [row["type"] for row in health["unserved_types"]]) == (False, ["x", "y"])
            async with app.worker(lanes=["a"]):
                health = await app.ahealth()
                assert health["unserved_types"] == [{"type": "y", "lane": "elsewhere"}]
                await app.lanes.aset("a", job_types=["x", "y"])
                async with asyncio.timeout(90):
                    while await app.alist(status=["approved", "running"]):
                        await asyncio.sleep(0.02)
                health = await app.ahealth()
                assert (health["ok"], health["unserved_types"], health["workers"]) == (True, [], 1)

    asyncio.run(main())
