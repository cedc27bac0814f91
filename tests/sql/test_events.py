"""Events and metrics in SQL: nothing is skipped, told twice or counted twice, whoever commits late, dies or merges."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.types.json import set_json_loads

from lanework import events, metrics
from lanework._store.verb import run
from lanework.events import Event, Everywhere
from tests.sql import test_interleavings as meet
from tests.sql import truth
from tests.sql.conftest import Another
from tests.sql.crowd import Crowd, Worker
from tests.sql.engine import Claim, Engine, connect
from tests.sql.interleave import Beside
from tests.sql.proof import complaints, move, wipe


class Reader:
    """A subscription as Python has it, on a connection of its own."""

    def __init__(self, engine: Engine, topics: list[str] | None = None) -> None:
        self.db = engine.db
        self.at = Everywhere.after("0-0", topics, None)

    def read(self) -> list[Event]:
        set_json_loads(lambda data: data, self.db)
        try:
            found: list[Event] = []
            more = True
            while more:
                page = self.at.take(run(self.db, self.at.verb()))
                found, more = [*found, *page.events], page.more
            return found
        finally:
            set_json_loads(json.loads, self.db)


def kinds(found: list[Event]) -> list[str]:
    return [event.kind for event in found]


def tell(engine: Engine, kind: str, topic: str = "mine") -> None:
    engine.rows("select lanework.tell(%s, %s)", topic, kind)


# the order of the stream


def test_what_commits_late_is_not_skipped(engine: Engine, another: Another) -> None:
    """8.1: the second id commits first. A reader that went by ids would never see the first."""
    one, two, reader = another(), another(), Reader(another(), ["mine"])
    with one.db.transaction():
        tell(one, "first")
        tell(two, "second")
        assert kinds(reader.read()) == [], "the second waits for the first: nobody knows yet whether it will come"
    assert kinds(reader.read()) == ["first", "second"]
    assert kinds(reader.read()) == []


def test_what_is_rolled_back_was_never_told(engine: Engine, another: Another) -> None:
    one, two, reader = another(), another(), Reader(another(), ["mine"])
    with one.db.transaction(force_rollback=True):
        tell(one, "first")
        tell(two, "second")
        assert reader.read() == []
    assert kinds(reader.read()) == ["second"]


def test_a_position_between_two_transactions_that_overlap(
    engine: Engine, another: Another, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids 1 and 4 in one transaction, 2 and 3 in another that commits in between; read in pages of one."""
    monkeypatch.setattr(events, "PAGE", 1)
    one, two, reader = another(), another(), Reader(another(), ["mine"])
    with one.db.transaction():
        tell(one, "1")
        with two.db.transaction():
            tell(two, "2")
            tell(two, "3")
        assert reader.read() == []
        tell(one, "4")
    found = reader.read()
    assert kinds(found) == ["1", "4", "2", "3"]
    for place, event in enumerate(found):
        again = Reader(engine, ["mine"])
        again.at = Everywhere.after(event.cursor, ["mine"], None)
        assert again.read() == found[place + 1 :]


def test_who_holds_the_stream_back_is_known(engine: Engine, another: Another) -> None:
    holder, row = another("-c application_name=long-import"), engine.rows("select * from lanework.event_horizon()")[0]
    assert (row["waiting"], row["pid"]) == (0, None)
    with holder.db.transaction():
        holder.rows("create temp table held on commit drop as select 1")
        tell(engine, "waits")
        row = engine.rows("select * from lanework.event_horizon()")[0]
        assert (row["waiting"], row["pid"], row["application"]) == (1, holder.db.info.backend_pid, "long-import")


def test_readers_see_every_event_once_whatever_writers_do(engine: Engine, shared_database: str) -> None:
    wipe(engine)
    crowd = Crowd(shared_database, 5)
    committed: list[str] = []
    lock = threading.Lock()

    def writer(db: Engine, rng: random.Random) -> None:
        for n in range(40):
            name = f"{threading.get_ident()}.{n}"
            with db.db.transaction(force_rollback=(gone := rng.random() < 0.2)):
                tell(db, f"{name}a")
                db.rows("select pg_sleep(%s)", rng.random() * 0.004)
                tell(db, f"{name}b")
            if not gone:
                with lock:
                    committed.extend([f"{name}a", f"{name}b"])

    seen: list[list[Event]] = [[], []]

    def follow(found: list[Event]) -> None:
        with connect(shared_database) as db:
            reader = Reader(Engine(db), ["mine"])
            while not crowd.stop.is_set():
                found += reader.read()
            found += reader.read()

    followers = [threading.Thread(target=follow, args=(found,)) for found in seen]
    for _ in range(5):
        crowd.add(writer, loop=False)
    for follower in followers:
        follower.start()
    crowd.work(lambda: not any(thread.is_alive() for thread in crowd._threads))
    for follower in followers:
        follower.join(30)
    assert sorted(kinds(seen[0])) == sorted(committed), "each once"
    assert seen[0] == seen[1], "in one order"


# telling


def test_a_kind_can_be_switched_off_and_the_act_is_kept(engine: Engine) -> None:
    engine.type("t")
    engine.rows("select lanework.set_telling('job', 'submitted', false, 'me')")
    engine.enqueue("t")
    tell(engine, "x", "job")
    assert [row["kind"] for row in engine.rows("select kind from lanework.events where topic = 'job'")] == ["x"]
    engine.rows("select lanework.set_telling('job', '*', false, 'me')")
    tell(engine, "x", "job")
    engine.rows("select lanework.set_telling('job', '*', true, 'me')")
    engine.rows("select lanework.set_telling('job', 'submitted', true, 'me')")
    engine.enqueue("t")
    assert [row["kind"] for row in engine.rows("select kind from lanework.events where topic = 'job' order by id")] == [
        "x",
        "submitted",
    ]
    acts = engine.rows("select target, after from lanework.audit_log where act = 'events.set' order by id desc limit 4")
    assert [row["target"] for row in acts[::-1]] == ["events:job/submitted", "events:job/*", "events:job/*", "events:job/submitted"]
    assert engine.one("select sum(submitted) from lanework.rollups") == 2, "counted all the same"


def test_ids_that_do_not_follow_each_other_are_told_in_bearable_rows(engine: Engine) -> None:
    kind = engine.type("t")
    engine.rows(
        "insert into lanework.jobs (id, type_id, status) select n * 2, %s, 'approved' from generate_series(1, 2500) n",
        kind,
    )
    sizes = [row["n"] for row in engine.rows("select cardinality(job_ids) as n from lanework.events order by id")]
    assert sizes == [1000, 1000, 500]
    truth.check(engine)
    engine.rows("delete from proof.history")


def test_jobs_that_an_operator_moves_back_are_not_submitted_again(engine: Engine) -> None:
    kind = engine.type("t")
    with engine.db.transaction():
        engine.rows("set local lanework.moves = 'redrive'")
        engine.rows("insert into lanework.jobs (type_id, status) values (%s, 'approved')", kind)
    assert engine.rows("select from lanework.events") == engine.rows("select from lanework.rollups") == []


def test_log_lines_are_stored_once_and_told(engine: Engine, another: Another) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    for _ in range(2):
        engine.enqueue("t")
    claims = engine.claim(worker, lane, kind, want=2)
    engine.log(*claims, text="hello")
    engine.progress(claims[0], message="half")
    engine.progress(*claims, message="more")
    reader = Reader(another(), ["log", "progress"])
    lines, first, *more = reader.read()
    assert [(line["job"], line["text"]) for line in lines.data["lines"]] == [(claim.id, "hello") for claim in claims]
    assert first.data["jobs"] == [{"id": claims[0].id, "fraction": 0.5, "message": "half"}]
    assert sorted(one["id"] for event in more for one in event.data["jobs"]) == [claim.id for claim in claims]


# partitions


@contextmanager
def own(database: str) -> Iterator[Engine]:
    with connect(database) as db:
        yield Engine(db)


def test_an_event_never_fails_for_want_of_a_partition(database: str) -> None:
    with own(database) as engine:
        engine.rows("select setval('lanework.event_ids', 77000000)")
        tell(engine, "x")
        where = "select c.relname from lanework.events e join pg_class c on c.oid = e.tableoid"
        assert engine.one(where) == "events_rest"
        assert engine.one("select lanework.extend_events()") == 4
        assert engine.one(where) == "events_000000077"
        assert engine.one("select lanework.extend_events()") == 0


def test_old_ranges_leave_whole_and_wait_for_nobody(database: str) -> None:
    def ranges(engine: Engine) -> list[str]:
        return [row["relname"] for row in engine.rows(
            "select relname from pg_class where relname ~ '^events_[0-9]+$' and relkind = 'r' order by 1")]  # fmt: skip

    with own(database) as engine, own(database) as other:
        tell(engine, "old")
        engine.rows("select setval('lanework.event_ids', 1000000)")
        engine.rows("update lanework.events set at = at - interval '8 days'")
        with other.db.transaction():
            other.rows("insert into lanework.events (id, topic, kind) values (5, 'mine', 'late')")
            assert engine.rows("select * from lanework.prune_events()") == [], "somebody writes there: not now"
            tell(engine, "new")
        assert engine.rows("select * from lanework.prune_events()") == [], "what was written there meanwhile is young"
        engine.rows("update lanework.events set at = at - interval '8 days' where id = 5")
        with other.db.transaction():
            other.rows("select from lanework.events")  # a reader holds every range
            pruning = Beside(engine, another_engine := Engine(connect(database)), lambda: another_engine.rows(
                "select * from lanework.prune_events()"))  # fmt: skip
            assert pruning.result() == [], "given up after 100 ms"
            another_engine.db.close()
        assert [row["thing"] for row in engine.rows("select * from lanework.prune_events()")] == ["event ranges"]
        assert [row["kind"] for row in engine.rows("select kind from lanework.events")] == ["new"]
        before = ranges(engine)
        engine.rows("select * from lanework.prune_events()")
        assert ranges(engine) == before[1:], "the empty range is dropped in the next round"


# metrics


def test_every_change_is_told_and_counted_once(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()

    def running(jobs: int = 1) -> list[Claim]:
        for _ in range(jobs):
            engine.enqueue("t")
        return engine.claim(worker, lane, kind, want=jobs)

    first, second, third = running(3)
    engine.completed(worker, first, third)
    engine.completed(worker, second)
    for action in ("retry", "release", "snooze", "fail", "cancel"):
        engine.settle(worker, *running(2), action=action, delay_s=60.0 if action == "snooze" else 0.0, error_class="permanent")
        engine.settle(worker, *engine.claim(worker, lane, kind, want=9), action="fail", error_class="transient")
    engine.cancel(engine.enqueue("t"))
    running()
    engine.end_worker(worker)
    truth.check(engine)


def test_events_and_metrics_are_the_truth_in_a_storm(engine: Engine, shared_database: str) -> None:
    """Workers that retry, forget and die, cancels, transactions that commit late, several mergers at once, and time that flies."""
    wipe(engine)
    a, b = engine.lane("a", 4), engine.lane("b", 3)
    x, y, z = engine.type("x", "a"), engine.type("y", "a"), engine.type("z", "b")
    jobs = [engine.enqueue("xyz"[n % 3], max_tries=4) for n in range(90)]
    crowd = Crowd(shared_database, 11)
    workers = [
        Worker({a: [x, y], b: [z]}, ("completed", "completed", "retry", "snooze", "release", "fail", "cancel"), forgets=0.1)
        for _ in range(5)
    ]
    for worker in workers:
        crowd.add(worker)
    healing = threading.Event()

    def trouble(db: Engine, rng: random.Random) -> None:
        db.rows("select pg_sleep(0.02)")
        if not healing.is_set():
            db.cancel(rng.choice(jobs))
            db.end_worker(rng.choice(workers).id, "dead")
        db.reap(0), db.promote(), db.sweep()

    def late(db: Engine, rng: random.Random) -> None:
        """A user's transaction that submits, and commits when its minute is long over."""
        with db.db.transaction(force_rollback=rng.random() < 0.3):
            if not healing.is_set():
                db.enqueue("xyz"[rng.randint(0, 2)])
            db.rows("select pg_sleep(0.05)")

    def merger(db: Engine, rng: random.Random) -> None:
        db.rows("select lanework.merge_rollups(7)")

    def time_flies(db: Engine, rng: random.Random) -> None:
        db.rows("select pg_sleep(0.05)")
        move(db, seconds=150)

    for member in (trouble, late, late, merger, merger, merger, time_flies):
        crowd.add(member)

    def rested() -> bool:
        if not healing.is_set() and engine.one("select count(*) from lanework.jobs_done") > 60:
            healing.set()
        return healing.is_set() and bool(engine.one("select not exists (select from lanework.jobs)"))

    crowd.work(rested, seconds=60)
    assert complaints(engine) == []
    assert set(crowd.errors) <= {"55P03"}, crowd.errors
    truth.check(engine)
    merge_all(engine)
    assert engine.one("select max(writer) from lanework.rollups") == 0
    assert engine.one("select coalesce(max(writer), 0) from lanework.error_rollups") == 0
    truth.check(engine)


def merge_all(engine: Engine) -> None:
    move(engine, minutes=10)
    while engine.one("select lanework.merge_rollups()"):
        pass


def test_merging_adds_to_what_was_merged_before(engine: Engine) -> None:
    engine.type("t")
    for _ in range(3):
        engine.enqueue("t")
        move(engine, minutes=10)
        assert engine.one("select lanework.merge_rollups()") == 1
        move(engine, minutes=-10)
    (row,) = engine.rows("select writer, submitted from lanework.rollups")
    assert (row["writer"], row["submitted"]) == (0, 3)


def test_two_leaders_merge_each_row_once(engine: Engine, another: Another) -> None:
    engine.type("t")
    one, two = another(), another()
    for db in (one, two, engine):
        db.enqueue("t")
    move(engine, minutes=10)
    with one.db.transaction():
        assert one.one("select lanework.merge_rollups(2)") == 2
        beside = Beside(engine, two, lambda: two.one("select lanework.merge_rollups()"))
    assert beside.result() == 1
    (row,) = engine.rows("select writer, submitted from lanework.rollups")
    assert (row["writer"], row["submitted"]) == (0, 3)


def test_metrics_of_a_span_in_steps(engine: Engine) -> None:
    lane, kind, worker = engine.lane("l", None), engine.type("t", "l"), engine.worker()
    start = engine.one("select lanework.now()")
    for minute in range(3):
        for _ in range(minute + 1):
            engine.enqueue("t")
        move(engine, seconds=2)
        claims = engine.claim(worker, lane, kind, want=10)
        move(engine, seconds=0.5)
        engine.completed(worker, *claims)
        move(engine, seconds=57.5)
    rows = engine.rows("select * from lanework.read_metrics(%s, lanework.now(), interval '1 min', null, null)", start)
    assert [(row["lane"], row["type"], row["submitted"], row["completed"]) for row in rows] == [("l", "t", n, n) for n in (1, 2, 3)]
    (row,) = engine.rows("select * from lanework.read_metrics(%s, lanework.now(), null, '{l}', '{t}')", start)
    assert (row["submitted"], row["started"], row["wait_s"], row["run_s"]) == (6, 6, 12, 3)
    assert 2 / 1.42 < (metrics.percentile(row["wait_hist"], 0.5) or 0) < 2 * 1.42
    assert 0.5 / 1.42 < (metrics.percentile(row["run_hist"], 0.99) or 0) < 0.5 * 1.42
    assert engine.rows("select * from lanework.read_metrics(%s, lanework.now(), null, '{other}', null)", start) == []
    engine.rows("select lanework.add_spend(%s, %s, 1.25), lanework.add_spend(%s, %s, 0.5)", lane, kind, lane, kind)
    assert float(engine.one("select sum(spend) from lanework.rollups")) == 1.75


def test_metrics_leave_after_their_time(engine: Engine) -> None:
    engine.type("t")
    engine.enqueue("t")
    move(engine, days=89)
    engine.rows("select lanework.prune()")
    assert engine.one("select count(*) from lanework.rollups") == 1
    move(engine, days=2)
    engine.rows("select lanework.prune()")
    assert engine.one("select count(*) from lanework.rollups") == 0


# histograms


def test_python_and_sql_have_the_same_bounds(engine: Engine) -> None:
    bounds = [float(row["b"]) for row in engine.rows("select extract(epoch from b) as b from unnest(lanework.bucket_bounds()) b")]
    assert bounds == pytest.approx(list(metrics.BOUNDS), abs=1e-6)


durations = st.lists(st.floats(0, 3e6, allow_nan=False), max_size=60)


def histogram(values: list[float]) -> tuple[int, ...]:
    places = [sum(value >= bound for bound in metrics.BOUNDS) for value in values]
    return tuple(places.count(place) for place in range(max(places, default=-1) + 1))


@given(durations, durations)
def test_a_merged_histogram_is_that_of_all(one: list[float], other: list[float]) -> None:
    assert metrics.merged(histogram(one), histogram(other)) == histogram(one + other)
    assert metrics.merged(histogram(other), histogram(one)) == histogram(one + other)


@given(st.lists(st.floats(0.001, 2e6), min_size=1, max_size=60), st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0]))
def test_a_percentile_is_off_by_a_place_at_most(values: list[float], share: float) -> None:
    rank = max(int(-(-share * len(values) // 1)) - 1, 0)
    exact, found = sorted(values)[rank], metrics.percentile(histogram(values), share)
    assert found is not None and exact / 1.4143 <= found <= exact * 1.4143


def test_sql_merges_as_python_does(engine: Engine) -> None:
    rng = random.Random(3)
    for _ in range(50):
        one, other = (histogram([rng.lognormvariate(0, 3) for _ in range(rng.randint(0, 20))]) for _ in range(2))
        assert tuple(engine.one("select lanework.add_histogram(%s::int[], %s::int[])", list(one), list(other))) == metrics.merged(
            one, other
        )
        summed = "select lanework.sum_histogram(h) from (values (%s::int[]), (%s::int[]), (null)) x(h)"
        assert tuple(engine.one(summed, list(one), list(other))) == metrics.merged(one, other)
        values = [rng.lognormvariate(0, 4) for _ in range(20)]
        sql = """select lanework.histogram(array_agg(p), array_agg(1::bigint)) from (
                     select width_bucket(make_interval(secs => v), lanework.bucket_bounds()) as p from unnest(%s::float8[]) v) x"""
        assert tuple(engine.one(sql, values)) == histogram(values)


def test_a_finish_in_somebodys_open_transaction_holds_up_no_other_finish(engine: Engine, another: Another) -> None:
    """Each session counts in rows of its own: `tx.finish` and then a long block must not stop the lane's other finishes."""
    scene = meet.Scene(engine, another, None)
    first, second = scene.running(2)
    with scene.one.db.transaction():
        scene.one.completed(scene.worker, first)
        finish = scene.beside(scene.two, lambda: scene.two.completed(scene.worker, second))
        assert not finish.blocked
    assert finish.result() == 1


def test_submits_of_open_transactions_do_not_wait_for_each_other(engine: Engine, another: Another) -> None:
    engine.type("t")
    one, two = another(), another("-c lock_timeout=1s")
    with one.db.transaction():
        one.enqueue("t")
        two.enqueue("t")
    with pytest.raises(psycopg.Error), one.db.transaction():
        one.rows("select 1/0")
    truth.check(engine)
