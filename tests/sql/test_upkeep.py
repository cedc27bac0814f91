"""Retention, partitions of the history, and that production's clock is the real one."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.engine import Engine, connect
from tests.sql.proof import move


def test_what_has_outlived_its_time_leaves(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    done, failed, live = engine.enqueue("t", idempotency_key="k"), engine.enqueue("t"), engine.enqueue("t", priority=-1)
    first, second = engine.claim(worker, lane, kind, want=2)
    engine.log(first), engine.checkpoint(first), engine.progress(first)
    engine.completed(worker, first), engine.settle(worker, second, action="fail")
    engine.end_worker(worker)

    def left() -> dict[str, int]:
        tables = ("jobs", "jobs_done", "jobs_failed", "keys", "logs", "checkpoints", "progress", "attempts", "workers")
        engine.rows("select lanework.prune()")
        return {t: engine.one(f"select count(*) from lanework.{t}") for t in tables}

    everything = left()
    move(engine, days=6)
    assert left() == everything == dict.fromkeys(everything, 1)
    move(engine, days=9)
    assert left() == everything | {"keys": 0, "logs": 0, "checkpoints": 0, "workers": 0}
    move(engine, days=16)
    assert left() == everything | {"keys": 0, "logs": 0, "checkpoints": 0, "workers": 0, "jobs_done": 0, "progress": 0}
    move(engine, days=60)
    assert left() == dict.fromkeys(everything, 0) | {"jobs": 1}
    assert engine.status(live) == "approved" and done != failed
    # the pruned rows left the history: that is not a loss
    engine.rows("delete from proof.history")


def test_a_finish_never_fails_for_want_of_a_partition(database: str) -> None:
    with connect(database) as db:
        engine = Engine(db)
        lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
        engine.rows("select setval('lanework.job_ids', 77000000)")
        job = engine.enqueue("t")
        engine.completed(worker, *engine.claim(worker, lane, kind))
        where = "select c.relname from lanework.jobs_done d join pg_class c on c.oid = d.tableoid where d.id = %s"
        assert engine.one(where, job) == "jobs_done_rest"
        assert engine.one("select lanework.extend_history()") == 6
        assert engine.one(where, job) == "jobs_done_000077"
        assert engine.one("select lanework.extend_history()") == 0


def test_productions_clock_cannot_be_moved(database: str) -> None:
    with psycopg.connect(database) as db:
        row = db.execute("select prosrc, provolatile, abs(extract(epoch from clock_timestamp() - lanework.now())) < 1"
                         " from pg_proc where oid = 'lanework.now'::regproc").fetchone()  # fmt: skip
    assert row is not None and row[1:] == ("s", True)
    assert " ".join(row[0].split()) == "begin return clock_timestamp(); end"


@pytest.mark.parametrize("column", ["payload", "rank", "max_tries"])
def test_bulk_rows_meet_the_limits_too(engine: Engine, column: str) -> None:
    kind = engine.type("t")
    value = {"payload": "'[]'", "rank": "2000", "max_tries": "0"}[column]
    with pytest.raises(psycopg.Error) as refused:
        engine.rows(f"insert into lanework.jobs (type_id, status, {column}) values ({kind}, 'approved', {value})")
    assert refused.value.sqlstate == "LW300" and engine.one("select count(*) from lanework.jobs") == 0
