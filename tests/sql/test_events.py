"""Events in SQL: nothing is skipped or told twice, whoever commits late or dies."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from lanework import events
from lanework.events import Event, Everywhere
from tests.sql import test_interleavings as meet
from tests.sql import truth
from tests.sql.conftest import Another
from tests.sql.crowd import Crowd
from tests.sql.engine import Engine, connect
from tests.sql.interleave import Beside
from tests.sql.proof import wipe
from tests.sql.streams import Reader, kinds, tell

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


# transactions that stay open


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
