"""What is refused names its field and stores nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, cast

import psycopg
import pytest

from lanework import InvalidJob, Job, Lanework, UnknownJobType
from lanework.testing import drain
from tests.submit.rows import count


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


REFUSED: dict[str, tuple[str, Callable[[Job[[Any], Any]], Any]]] = {
    "over 256 KiB": ("payload", lambda job: job.submit("x" * 262_144)),
    "NUL": ("value", lambda job: job.submit(["a\0b"])),
    "NUL in a key": ("value", lambda job: job.submit({"a\0": 1})),
    "lone surrogate": ("value", lambda job: job.submit("\ud800")),
    "NaN": ("value", lambda job: job.submit(float("nan"))),
    "1e400": ("value", lambda job: job.submit(json.loads("1e400"))),
    "10,000 deep": ("value", lambda job: job.submit(nested(10_000))),
    "a set": ("value", lambda job: job.submit({1, 2})),
    "no argument": ("value", lambda job: cast("Any", job).submit()),
    "an argument too many": ("other", lambda job: cast("Any", job).submit(1, other=2)),
    "unknown option": ("prority", lambda job: cast("Any", job).options(prority=1).submit(1)),
    "priority out of bounds": ("priority", lambda job: job.options(priority=1001).submit(1)),
    "run_at without a time zone": ("run_at", lambda job: job.options(run_at=datetime(2100, 1, 1)).submit(1)),
    "run_at too far": ("run_at", lambda job: job.options(run_at=datetime(9999, 1, 1, tzinfo=UTC)).submit(1)),
    "max_age of nothing": ("max_age", lambda job: job.options(max_age=0).submit(1)),
    "max_tries 0": ("max_tries", lambda job: job.options(max_tries=0).submit(1)),
    "a key of nothing": ("idempotency_key", lambda job: job.options(idempotency_key="").submit(1)),
    "21 tags": ("tags", lambda job: job.options(tags=[str(n) for n in range(21)]).submit(1)),
    "NUL in the owner": ("owner", lambda job: job.options(owner="\0").submit(1)),
    "no connection at all": ("connection", lambda job: job.options(connection=object()).submit(1)),
}


def test_a_refused_submit_names_the_field_and_stores_nothing(echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    for case, (field, submit) in REFUSED.items():
        with pytest.raises(InvalidJob) as caught:
            submit(echo)
        assert (caught.value.field, field in str(caught.value)) == (field, True), case
    assert count(db) == 0


SQL_REFUSED = {
    "unknown type": ("type", "type => 'nope'"),
    "null type": ("type", "type => null"),
    "payload of 262,145 bytes": ("payload", "type => 'echo', payload => jsonb_build_object('v', repeat('x', 262145))"),
    "no object": ("payload", "type => 'echo', payload => '[1]'"),
    "null payload": ("payload", "type => 'echo', payload => null"),
    "run_at in 99999": ("run_at", "type => 'echo', run_at => '99999-01-01Z'"),
    "run_at infinity": ("run_at", "type => 'echo', run_at => 'infinity'"),
    "priority": ("priority", "type => 'echo', priority => 2000"),
    "max_tries": ("max_tries", "type => 'echo', max_tries => 0"),
    "max_age": ("max_age", "type => 'echo', max_age => '-1 s'"),
    "version": ("version", "type => 'echo', version => 0"),
    "key": ("idempotency_key", "type => 'echo', idempotency_key => ''"),
    "tags": ("tags", "type => 'echo', tags => array['a', null]"),
}


def test_plain_sql_meets_the_same_limits(app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    app._ready()
    for case, (field, arguments) in SQL_REFUSED.items():
        with pytest.raises(psycopg.Error, match=f"{field}: ") as caught:
            db.execute(f"select lanework.enqueue({arguments})".encode())
        assert caught.value.sqlstate == ("LW301" if field == "type" else "LW300"), case
    assert count(db) == 0


def test_an_unknown_type_has_its_own_error(app: Lanework) -> None:
    with pytest.raises(UnknownJobType, match="nope") as caught:
        app.handlers["nope"]
    assert caught.value.field == "type"


def test_deep_json_from_plain_sql_fails_its_own_job(app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    app._ready()
    payload = '{"value": ' + "[" * 6000 + "]" * 6000 + "}"
    deep = cast("Any", db.execute("select lanework.enqueue('echo', %s::jsonb, max_tries => 1)", (payload,)).fetchone())[0]
    fine = [echo.submit(n) for n in range(20)]
    drain(app)
    assert [handle.result(timeout=10) for handle in fine] == list(range(20))
    row = db.execute("select status::text, error from lanework.all_jobs where id = %s", (deep,)).fetchone()
    assert row is not None
    assert row[0] == "failed"
    assert "cannot be read" in row[1]
