"""`lanework doctor`: each trouble is made, found, and gone again when it is mended. (An ill server is in test_doctor_server.)"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from lanework import Context, Lanework
from lanework.cli import main
from lanework.diagnosis import engine
from tests.pooler import pooler, program
from tests.servers import Databases
from tests.sql.engine import Engine, connect

Doctor = Callable[[], list[tuple[str, str, str, str]]]


@pytest.fixture
def doctor(database: str, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[tuple[str, str, str, str]]]:
    """The findings as (level, check, what, remedy)."""

    def examine(dsn: str = database) -> list[tuple[str, str, str, str]]:
        capsys.readouterr()
        main(["--dsn", dsn, "doctor", "-o", "json"])
        found = json.loads(capsys.readouterr().out)["findings"]
        return [(one["level"], one["check"], one["what"], one["remedy"]) for one in found]

    return examine


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database, beat=0.2, idle_beat=0.2, sweep=0.5) as app:
        app.lane("books", max_slots=None)

        @app.job(lane="books")
        async def read(ctx: Context) -> None: ...

        @app.job
        async def homeless(ctx: Context) -> None: ...

        @app.job
        async def another(ctx: Context) -> None: ...

        app.lanes.list()
        yield app


@pytest.fixture
def sql(database: str) -> Iterator[Engine]:
    with connect(database) as db:
        yield Engine(db)


def found(findings: list[tuple[str, str, str, str]], check: str, level: str = "warning") -> list[str]:
    assert all(remedy for one, _, _, remedy in findings if one != "ok"), "each trouble says what to do"
    return [what for one, name, what, _ in findings if (one, name) == (level, check)]


def worker(sql: Engine, *types: str, lanes: tuple[str, ...] = (), **info: Any) -> int:
    ids = [sql.one("select id from lanework.job_types where name = %s", one) for one in types]
    return int(sql.one(
        "select lanework.start_worker('w', 'here', 1, '30 s', %s, %s::int[], %s)", list(lanes), ids, json.dumps(info)))  # fmt: skip


def test_a_lane_without_a_worker(app: Lanework, sql: Engine, doctor: Doctor) -> None:
    worker(sql, "homeless", "another")
    assert found(doctor(), "lanes") == ["no worker serves lane books: what is submitted there will wait"]
    worker(sql, "read")
    assert found(doctor(), "lanes") == []


def test_types_without_a_lane(app: Lanework, sql: Engine, doctor: Doctor) -> None:
    worker(sql, "homeless", "another", "read")
    assert found(doctor(), "types") == []
    sql.enqueue("homeless")
    assert found(doctor(), "types") == [
        "2 job types without a lane share 1 slot of lane default, and jobs wait there: another, homeless"
    ]
    app.lanes.set("default", max_slots=2)
    assert found(doctor(), "types") == []


def test_a_workers_clock(app: Lanework, sql: Engine, doctor: Doctor) -> None:
    now = float(sql.one("select extract(epoch from now())::float8"))
    right, wrong = worker(sql, "read", clock=now), worker(sql, "read", clock=now - 3600)
    assert found(doctor(), "clock") == [f"the clock of worker {wrong} (w) is 3600 s behind the server's"]
    sql.end_worker(wrong)
    assert found(doctor(), "clock") == []
    assert right


def test_a_pool_smaller_than_the_slots(app: Lanework, sql: Engine, doctor: Doctor) -> None:
    one = worker(sql, "read", lanes=("books",), connections=4, max_jobs=50)
    assert found(doctor(), "pools") == [
        f"worker {one} (w) may run 50 jobs at once, and those in ctx.transaction() share 4 connections"
    ]
    app.lanes.set("books", worker_slots=4)
    assert found(doctor(), "pools") == []


def test_a_real_worker(app: Lanework, sql: Engine, doctor: Doctor) -> None:
    """Its connections by what they are for, and what it says about itself."""

    async def main() -> list[str]:
        async with app, app.worker():
            for _ in range(100):
                seen = await asyncio.to_thread(lambda: found(doctor(), "pools", "ok"))
                if len(seen) >= 4:
                    return seen
                await asyncio.sleep(0.1)
        return seen

    seen = {line.partition(":")[0]: line for line in asyncio.run(main())}
    assert {"worker", "guard", "listen", "client"} <= set(seen)
    assert "1 open" in seen["guard"] and "at most 1 in each of 1 worker (heartbeats and maintenance)" in seen["guard"]
    assert set(sql.one("select info from lanework.workers")) >= {"clock", "connections", "max_jobs", "versions"}
    (off,) = sql.rows("select extract(epoch from started_at)::float8 - (info ->> 'clock')::float8 as s from lanework.workers")
    assert abs(off["s"]) < engine.SKEW


def test_notifiers_that_do_not_arrive(app: Lanework, sql: Engine, doctor: Doctor) -> None:
    sql.rows("insert into lanework.notifiers (name, kind, url) values ('pager', 'webhook', 'https://pager.example/hook')")
    assert found(doctor(), "notifiers") == []
    sql.rows("""insert into lanework.notifications (
                    notifier_id, state, count, letters, groups, tries, next_at, created_at, last_error)
                select id, 'pending', 1, '{1}', '[]', 3, now(), now(), '503 from pager.example' from lanework.notifiers""")
    assert found(doctor(), "notifiers") == ["pager is not told of dead letters: 0 given up, 1 tried again (503 from pager.example)"]


def test_bloat(app: Lanework, sql: Engine, doctor: Doctor, monkeypatch: pytest.MonkeyPatch) -> None:
    sql.rows("alter table lanework.jobs set (autovacuum_enabled = off)")
    kind = sql.one("select id from lanework.job_types where name = 'read'")
    sql.rows("insert into lanework.jobs (type_id, status) select %s, 'approved' from generate_series(1, 100100)", kind)
    sql.rows("delete from lanework.jobs")
    sql.rows("select pg_stat_force_next_flush()")
    sql.rows("select 1")
    assert [what.split(" has ")[0] for what in found(doctor(), "bloat")] == ["lanework.jobs"]
    sql.rows("vacuum lanework.jobs")
    assert found(doctor(), "bloat") == []


@pytest.fixture
def in_mode(databases: Databases, direct: str) -> Iterator[Callable[[str], str]]:
    if program() is None:
        pytest.skip("pgbouncer is not installed here")
    running = []

    def through(mode: str) -> str:
        context = pooler(databases.server, mode=mode)
        running.append(context)
        return context.__enter__().dsn(direct)

    yield through
    for one in running:
        one.__exit__(None, None, None)


def test_a_pooler(
    app: Lanework, direct: str, in_mode: Callable[[str], str], doctor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn = in_mode("transaction")
    first, second = found(doctor(dsn), "pooler")
    assert first.startswith("a pooler sits in between: jobs are found by polling alone")
    assert second.startswith("role lanework has no statement_timeout and no idle_in_transaction_session_timeout")
    monkeypatch.setenv("LANEWORK_DIRECT_DSN", direct)
    with psycopg.connect(direct, autocommit=True) as db:
        try:
            for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
                db.execute(f"alter role lanework in database {db.info.dbname} set {name} = '30s'".encode())
            again = in_mode("transaction")
            assert found(doctor(again), "pooler") == []
            assert found(doctor(again), "pooler", "ok") == ["transactions go through it"]
            db.execute(
                f"alter role lanework in database {db.info.dbname} set default_transaction_isolation = serializable".encode()
            )
            (wrong,) = found(doctor(in_mode("transaction")), "pooler", "error")
            assert "begin as serializable: claims are refused" in wrong
        finally:
            db.execute(f"alter role lanework in database {db.info.dbname} reset all".encode())


def test_a_pooler_that_takes_no_transactions(app: Lanework, in_mode: Callable[[str], str], doctor: Callable[..., Any]) -> None:
    (wrong,) = found(doctor(in_mode("statement")), "pooler", "error")
    assert wrong.startswith("the pooler refuses transactions")
