"""The cost of a verb does not grow with the table: measured in pages touched, which a full scan of table or index gives away.

On an empty table, on 200,000 rows that were never analysed, and on the same table when most of it is dead; on 15 and 18.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest

from tests.sql.engine import TOP, Claim, Engine, columns, connect, numbers

ROWS = 200_000
#: A verb of a batch of ten touches some hundred pages; the table has thousands, each index of it hundreds more.
PAGES = 800


class Table:
    """The hot table in one of its conditions, and the verbs that must not read all of it."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.batch = engine, 10
        self.lane = engine.lane("l", None)
        self.kinds = [engine.type("a", "l"), engine.type("b", "l"), engine.type("c", "l", concurrency=1000)]
        engine.type("dear", "l", approval="always")
        self.estimate = engine.type("priced:estimate", "l", estimates="priced")
        engine.type("priced", "l", approval="always", estimator="priced:estimate")
        self.worker, self.victim = engine.worker(), engine.worker()
        for table in ("jobs", "claims", "stops", "lane_use", "keys"):
            engine.rows(f"alter table lanework.{table} set (autovacuum_enabled = off)")

    def fill(self) -> None:
        """Most wait, a fifth is delayed, a fifth has a deadline far away, a fifth waits in one long session."""
        self.engine.rows(
            """insert into lanework.jobs (type_id, status, session, blocked_on, run_at, deadline, rank, created_at)
               select (%s::int[])[1 + n %% 3],
                      case n %% 5 when 4 then 'scheduled' when 2 then 'blocked' else 'approved' end::lanework.job_status,
                      case when n %% 5 = 2 then 'long' end, case when n %% 5 = 2 then 'session' end,
                      case when n %% 5 = 4 then lanework.now() + make_interval(secs => n) end,
                      case when n %% 5 = 3 then lanework.now() + interval '1 day' end, n %% 3,
                      lanework.now() - make_interval(secs => %s - n)
               from generate_series(1, %s) n""", self.kinds, ROWS, ROWS)  # fmt: skip

    def kill_most(self) -> None:
        """What 180,000 finished and promoted jobs leave behind when nobody vacuums."""
        self.engine.rows("delete from lanework.jobs where id %% 10 <> 0")
        self.engine.rows("update lanework.jobs set run_at = run_at + interval '1 day' where status = 'scheduled'")

    def drain(self) -> None:
        """A quiet queue, as the statistics know it: three jobs, all of them delayed."""
        for name in ("jobs", "claims", "stops", "lane_use", "type_use", "keys"):
            self.engine.rows(f"delete from lanework.{name}")
        for _ in range(3):
            self.engine.rows("select lanework.enqueue('a', run_at => now() + interval '1 day')")
        self.engine.rows("vacuum analyze")

    def claims(self, worker: int) -> list[Claim]:
        self.engine.beat(self.worker)  # nothing is left from the verb before
        for _ in range(self.batch):
            self.engine.enqueue("a", priority=100)
        claims = self.engine.claim(worker, self.lane, self.kinds[0], want=self.batch)
        assert len(claims) == self.batch
        return claims

    def pages(self, sql: str, *args: object) -> int:
        (row,) = self.engine.rows(f"explain (analyze, buffers, format json) {sql}", *args)
        plan = row["QUERY PLAN"][0]["Plan"]
        return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    def verbs(self) -> Iterator[tuple[str, Callable[[], int]]]:
        for name, kinds in (("one type", self.kinds[:1]), ("two types", self.kinds[:2]), ("a capped type", self.kinds)):
            yield f"claim {name}", lambda kinds=kinds: self._claim(kinds)  # type: ignore[misc]
        yield "completed", lambda: self._ended("completed", "'1'::text")
        yield "completed in sessions", self._followed
        yield "settle", lambda: self._ended("settle", """'{"action": "retry", "uses_try": true}'::jsonb""")
        yield "write_logs", lambda: self._written("write_logs", "'{}', '{}', '{}', '{}'")
        yield "write_progress", lambda: self._written("write_progress", "'{}', " + self._each("''::text") + ", '{}'")
        yield "promote", self._promote
        yield "look", lambda: self.pages("select * from lanework.look(null, %s)", self.kinds)
        yield "beat", self._beat
        yield "sweep", self._sweep
        yield "end_worker", self._end_worker
        yield "reap", lambda: self.pages("select * from lanework.reap(%s)", self.worker)
        yield "enqueue", lambda: self.pages("select lanework.enqueue('a', idempotency_key => %s)", str(uuid.uuid4()))
        yield "enqueue what is estimated", lambda: self.pages("select lanework.enqueue('priced')")
        yield "approve", self._approve
        yield "edit", lambda: self.pages("select lanework.edit(%s, '{}')", self.engine.enqueue("priced"))
        yield "completed of an estimate", self._estimated
        yield "tend_approvals", lambda: self.pages("select lanework.tend_approvals(20)")
        yield "cancel", lambda: self.pages("select lanework.cancel(%s)", self.engine.enqueue("a"))

    def measured(self) -> dict[str, int]:
        """Pages of each verb's second call: the first one of a session also reads catalogs, and marks dead entries as such."""
        for _, verb in self.verbs():
            verb()
        return {name: verb() for name, verb in self.verbs()}

    def _claim(self, kinds: list[int]) -> int:
        n = len(kinds)
        capped = [kind for kind in kinds if kind == self.kinds[2]]
        return self.pages(
            """select * from lanework.claim(%s, %s, %s, %s, gen_random_uuid(), 10, 0, %s::int[], %s::int[],
                   %s::int[], %s::smallint[], %s::int[], %s::smallint[], %s::timestamptz[], %s::bigint[], %s::int[], %s::int[])""",
            self.worker, self.lane, next(numbers), next(numbers), capped, [0] * len(capped),
            kinds, [1] * n, [-(2**31)] * n, [TOP[0]] * n, [TOP[1]] * n, [0] * n, [2**31 - 1] * n, [40000] * n)  # fmt: skip

    def _columns(self) -> tuple[list[int], list[int], list[uuid.UUID]]:
        claims = self.claims(self.worker)
        return [c.id for c in claims], [c.attempt for c in claims], [c.claim_id for c in claims]

    def _ended(self, verb: str, each: str) -> int:
        call = f"lanework.{verb}(%s, %s::bigint[], %s::int[], %s::uuid[], {self._each(each)})"
        return self.pages(f"select * from {call}", self.worker, *self._columns())

    def _followed(self) -> int:
        """Each completion lets the next of its session go."""
        names = [str(uuid.uuid4()) for _ in range(self.batch)]
        for name in names * 2:
            self.engine.enqueue("a", priority=200, session=name)
        self.engine.rows("select lanework.promote_sessions(%s)", names)
        heads = self.engine.claim(self.worker, self.lane, self.kinds[0], want=self.batch)
        results = self._each("'1'::text")
        call = f"lanework.completed(%s, %s::bigint[], %s::int[], %s::uuid[], {results})"
        pages = self.pages(f"select * from {call}", self.worker, *columns(heads))
        followers = self.engine.claim(self.worker, self.lane, self.kinds[0], want=self.batch)
        assert self.engine.completed(self.worker, *followers) == self.batch and followers[0].id > heads[-1].id
        return pages

    def _each(self, value: str) -> str:
        return f"array_fill({value}, array[{self.batch}])"

    def _written(self, verb: str, more: str) -> int:
        return self.pages(f"select * from lanework.{verb}(%s::bigint[], %s::int[], %s::uuid[], {more})", *self._columns())

    def _promote(self) -> int:
        for claim in self.claims(self.worker):
            self.engine.settle(self.worker, claim, action="snooze", delay_s=0.001)
        self.engine.rows("select pg_sleep(0.005)")
        return self.pages("select * from lanework.promote(100)")

    def _beat(self) -> int:
        for claim in self.claims(self.worker):
            self.engine.cancel(claim.id)
        known = [row["no"] for row in self.engine.rows("select no from lanework.claims where worker_id = %s", self.worker)]
        return self.pages("select * from lanework.beat(%s, %s::bigint[], 1000000000000, '5 s')", self.worker, known)

    def _sweep(self) -> int:
        for claim in self.claims(self.worker):
            self.engine.cancel(claim.id)
        for _ in range(self.batch):
            self.engine.enqueue("a", max_age="1 ms")
        self.engine.rows("select pg_sleep(0.005)")
        return self.pages("select * from lanework.sweep()")

    def _approve(self) -> int:
        job = self.engine.enqueue("dear")
        hash = self.engine.one("select lanework.hash_of(j) from lanework.jobs j where id = %s", job)
        return self.pages("select lanework.approve(%s, %s)", job, hash)

    def _estimated(self) -> int:
        self.engine.enqueue("priced")
        (claim,) = self.engine.claim(self.worker, self.lane, self.estimate)
        return self.pages("select lanework.completed(%s, %s, %s, %s, array['{}'])", self.worker, *([value] for value in claim))

    def _end_worker(self) -> int:
        victim = self.engine.worker()
        self.claims(victim)
        return self.pages("select * from lanework.end_worker(%s, 'dead', '', false)", victim)


@pytest.mark.pg(15, 18)
def test_no_verb_reads_the_whole_table(database: str) -> None:
    with connect(database) as db:
        table = Table(Engine(db))
        seen = {"empty": table.measured()}
        table.fill()
        with connect(database) as fresh:
            table.engine = Engine(fresh)
            seen["never analysed"] = table.measured()
            table.kill_most()
            seen["mostly dead"] = table.measured()
        table.engine = Engine(db)
        # a session whose plans are those of a quiet queue, before the next analysis
        table.drain()
        table.batch = 1
        table.measured()
        table.fill()
        table.batch = 10
        seen["filled after a quiet time"] = table.measured()
    high = {f"{name}, {state}": pages for state, verbs in seen.items() for name, pages in verbs.items() if pages > PAGES}
    assert high == {}, f"pages touched, of at most {PAGES}: {high}"


@pytest.mark.pg(15, 18)
@pytest.mark.parametrize("analysed", [False, True], ids=["never analysed", "analysed"])
def test_a_claim_does_not_look_through_a_lane_s_types_for_each_of_them(engine: Engine, analysed: bool) -> None:
    # Red with a claim that finds a type by its lane, and with one that asks every type where its jobs may go.
    types, want = 1000, 100
    lane, worker = engine.lane("many", None), engine.worker()
    many = "insert into lanework.job_types (name, lane) select 'kind ' || n, 'many' from generate_series(1, %s) n returning id"
    kinds = [row["id"] for row in engine.rows(many, types)]
    engine.rows("insert into lanework.jobs (type_id, status) select t, 'approved' from unnest(%s::int[]) t", kinds)
    if analysed:
        engine.rows("analyze lanework.job_types")
    engine.rows("begin")
    before = _types_read(engine)
    assert len(engine.claim(worker, lane, *kinds, want=want)) == want
    assert _types_read(engine) - before <= 4 * want
    engine.rows("rollback")


def _types_read(engine: Engine) -> int:
    """Rows of `job_types` that this transaction has looked at, in the table or in an index of it."""
    return int(
        engine.one(
            """select seq_tup_read + (
                   select sum(pg_stat_get_xact_tuples_returned(i.indexrelid)) from pg_index i where i.indrelid = relid)
               from pg_stat_xact_user_tables where relid = 'lanework.job_types'::regclass"""
        )
    )
