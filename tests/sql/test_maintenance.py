"""Maintenance in SQL: one run of a task in the cluster, whatever leaders do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.sql.conftest import Another
from tests.sql.engine import Engine
from tests.sql.interleave import Beside
from tests.sql.proof import move
from tests.sql.timetable import START, House, at


def test_one_run_of_a_task_in_the_cluster(engine: Engine) -> None:
    def begin(worker: int = 1) -> Any:
        return engine.one("select lanework.begin_task('rollups', %s, %s)", worker, at(days=2))

    engine.rows("update lanework.maintenance_tasks set next_at = %s where name = 'rollups'", START)
    fence = begin()
    engine.rows("select lanework.ask_task('rollups', 'me')")
    assert fence is not None and begin(2) is None
    assert "rollups" not in [row["name"] for row in engine.rows("select name from lanework.due_tasks()")]
    move(engine, seconds=91)  # its timeout and half a minute: the guard that ran it is dead
    assert "rollups" in [row["name"] for row in engine.rows("select name from lanework.due_tasks()")]
    later = begin(2)
    assert later == fence + 1
    assert not engine.one("select lanework.end_task('rollups', %s, 'ok', '', '{}')", fence)
    assert engine.one("select lanework.end_task('rollups', %s, 'ok', '', %s)", later, json.dumps({"merged": 3}))
    runs = engine.rows("select outcome, worker_id, asked_by, counts from lanework.maintenance_runs order by id")
    assert [(run["outcome"], run["worker_id"], run["asked_by"]) for run in runs] == [("lost", 1, None), ("ok", 2, "me")]
    assert runs[1]["counts"] == {"merged": 3}
    engine.rows("update lanework.maintenance_tasks set next_at = %s where name = 'rollups'", START)


def test_two_leaders_cannot_take_one_task(engine: Engine, another: Another) -> None:
    other = another()
    engine.rows("update lanework.maintenance_tasks set next_at = %s where name = 'rollups'", START)
    take: Callable[[Engine], Any] = lambda it: it.one("select lanework.begin_task('rollups', 1, %s)", at(days=2))  # noqa: E731
    with engine.db.transaction():
        fence = take(engine)
        answer = Beside(engine, other, lambda: take(other))
    assert fence is not None and answer.result() is None
    engine.rows("select lanework.end_task('rollups', %s, 'ok', '', '{}')", fence)


def test_a_task_in_python_is_a_job(house: House) -> None:
    engine = house.engine
    kind = engine.type("sweep:maintenance", "l", max_tries=1)
    engine.rows("select lanework.register_tasks(%s)", json.dumps([
        {"name": "sweep", "description": "", "cron": None, "every_s": 60, "tz": "UTC", "timeout_s": 5}]))  # fmt: skip

    def take() -> Any:
        engine.rows("select * from lanework.due_tasks()")
        return engine.one("select lanework.begin_task('sweep', 1, %s)", START)

    assert (take(), take()) == (1, None)
    (claim,) = house.claim(kind)
    engine.settle(house.worker, claim, action="fail", error_class="permanent", error="broken")
    assert take() == 2
    runs = engine.rows("select outcome, error from lanework.maintenance_runs order by id")
    assert [(run["outcome"], run["error"]) for run in runs] == [("failed", "broken"), ("running", "")]
    (alarm,) = engine.rows("select * from lanework.schedule_alarms()")
    assert (alarm["kind"], alarm["name"], alarm["what"]) == ("task", "sweep", "broken")


def test_bloated_indexes_are_found(engine: Engine) -> None:
    assert engine.rows("select * from lanework.bloated_indexes()") == []
    kind = engine.type("t")
    engine.rows("insert into lanework.jobs (type_id, status) select %s, 'approved' from generate_series(1, 20000)", kind)
    engine.rows("delete from lanework.jobs")
    left = "select reltuples from pg_class where oid = 'lanework.jobs_claim'::regclass"
    while engine.rows("vacuum lanework.jobs") or engine.one(left) > 0:
        time.sleep(0.05)  # an analyze of the server's own still sees what was deleted
    found = engine.rows("select * from lanework.bloated_indexes(100000)")
    assert "reindex index concurrently lanework.jobs_claim" in [row["command"] for row in found]
    before = next(row["bytes"] for row in found if row["name"] == "jobs_claim")
    for row in found:
        engine.rows(row["command"])
    assert engine.one("select pg_relation_size('lanework.jobs_claim')") < before
    engine.rows("delete from proof.history")
