"""Dead letters are told of, each once and together with others of its kind."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.engine import Engine
from tests.sql.letters import a_lane, die, retry, run
from tests.sql.proof import complaints, move


def hook(engine: Engine, name: str = "hook", every: int = 60) -> int:
    engine.rows("select lanework.set_notifier(%s, 'https://x.example/hook', 'secret', true, %s, 'ada')", name, every)
    return int(engine.one("select id from lanework.notifiers where name = %s", name))


def gathered(engine: Engine) -> list[dict[str, Any]]:
    engine.one("select lanework.gather_notifications()")
    return engine.rows("select * from lanework.notifications order by seq")


def test_a_letter_and_its_note_are_one_transaction(engine: Engine) -> None:
    a_lane(engine)
    hook(engine)
    with pytest.raises(ZeroDivisionError), engine.db.transaction():
        die(engine)
        assert engine.one("select count(*) from lanework.outbox") == 1
        raise ZeroDivisionError
    assert engine.one("select count(*) from lanework.outbox") == 0
    job = engine.enqueue("t", max_age="1 s")
    move(engine, seconds=2)
    engine.sweep()  # another way into the grave
    assert engine.one("select job_id from lanework.outbox") == job


def test_every_letter_is_told_once_and_together(engine: Engine) -> None:
    a_lane(engine)
    engine.type("lanework:notify")
    number = hook(engine)
    first = die(engine)
    assert [row["count"] for row in gathered(engine)] == [1]
    second = die(engine, count=3)
    other = die(engine, error="something else")
    assert [row["count"] for row in gathered(engine)] == [1, 1]  # the other group does not wait for the first one
    move(engine, seconds=61)
    messages = gathered(engine)
    assert [row["count"] for row in messages] == [1, 1, 3]
    told = [letter for row in messages for letter in row["letters"]]
    assert sorted(told) == sorted(row["letter"] for row in engine.rows("select letter from lanework.jobs_failed"))
    assert messages[2]["groups"][0]["job_ids"] == second and messages[1]["groups"][0]["sample"] == other[0]
    assert engine.one("select count(*) from lanework.outbox") == 0
    retry(engine, first[0])
    for claim in run(engine):
        engine.settle(1, claim, action="fail", error="boom", error_class="permanent")
    move(engine, seconds=61)
    assert [row["count"] for row in gathered(engine)] == [1, 1, 3, 1]  # it died again: another letter
    jobs = engine.rows(
        "select payload from lanework.jobs j join lanework.job_types t on t.id = j.type_id where t.name = 'lanework:notify'"
    )
    assert jobs == [{"payload": {"notifier": number}}]  # one job sends them all


def test_each_notifier_has_its_own(engine: Engine) -> None:
    a_lane(engine)
    first, second = hook(engine), hook(engine, "pager", 0)
    die(engine, count=2)
    assert {row["notifier_id"]: row["count"] for row in gathered(engine)} == {first: 2, second: 2}
    engine.rows("select lanework.set_notifier('pager', null, null, false, null, 'ada')")
    die(engine)
    assert {row["notifier_id"] for row in engine.rows("select * from lanework.outbox")} == {first}
    engine.rows("select lanework.remove_notifier('hook', 'ada')")
    assert engine.one("select count(*) from lanework.outbox") == 0
    assert "secret" not in str(engine.rows("select before, after from lanework.audit_log"))


def test_a_message_is_tried_with_backoff_and_given_up(engine: Engine) -> None:
    a_lane(engine)
    number = hook(engine)
    engine.rows("update lanework.notifiers set max_tries = 3")
    die(engine)
    gathered(engine)
    take = "select * from lanework.take_notification(%s)"
    (message,) = engine.rows(take, number)
    assert engine.rows(take, number) == []  # taken: nobody else sends it now
    move(engine, seconds=31)  # whoever took it died: it is due again
    (same,) = engine.rows(take, number)
    assert (same["id"], same["tries"]) == (message["id"], 2)
    assert engine.one("select lanework.end_notification(%s, 'HTTP 500')", same["id"]) == "pending"
    assert engine.rows(take, number) == []
    move(engine, seconds=11)
    (same,) = engine.rows(take, number)
    assert engine.one("select lanework.end_notification(%s, 'HTTP 500')", same["id"]) == "failed"
    (row,) = engine.rows("select state, tries, last_error from lanework.notifications")
    assert row == {"state": "failed", "tries": 3, "last_error": "HTTP 500"}


def test_nobody_is_told_about_messages(engine: Engine) -> None:
    lane, _, worker = a_lane(engine)
    kind = engine.type("lanework:notify", "l")
    hook(engine)
    engine.enqueue("lanework:notify")
    engine.settle(worker, *engine.claim(worker, lane, kind), action="fail")
    assert engine.one("select count(*) from lanework.outbox") == 0


@pytest.mark.parametrize(
    "url", ["ftp://x", "file:///etc/passwd", "javascript:1", "https://", "http://u:p@x.example/", "x", "http://a b/"]
)
def test_addresses_that_are_refused(engine: Engine, url: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        engine.rows("select lanework.set_notifier('hook', %s, null, true, null, 'ada')", url)
    assert caught.value.sqlstate == "LW511"


def test_a_storm_is_one_message(engine: Engine) -> None:
    """Ten thousand dead letters of one group, in batches, and the groups are read with a hundred thousand behind them."""
    _, kind, _ = a_lane(engine)
    hook(engine)
    insert = """insert into lanework.jobs_failed (id, status, type_id, attempt, finished_at, error_class, error)
                select nextval('lanework.job_ids'), 'failed', %s, 1, lanework.now(), 'unknown', 'no key ' || n
                from generate_series(1, %s) n"""
    engine.rows("alter table lanework.jobs_failed disable trigger record")
    try:
        engine.rows(insert, kind, 10_000)
        (message,) = gathered(engine)
        assert message["count"] == 10_000 == len(set(message["letters"]))
        assert len(message["groups"]) == 1
    finally:
        engine.rows("alter table lanework.jobs_failed enable trigger record")
    assert complaints(engine) == []
