"""One idempotency key is one job."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from lanework import Context, IdempotencyConflict, InvalidJob, Job, Lanework
from lanework.testing import Clock, drain
from tests.submit.rows import count


def test_the_same_key_and_body_is_the_same_job(app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    first = echo.options(idempotency_key="k").submit({"a": 1, "b": 2})
    assert echo.options(idempotency_key="k", priority=9).submit({"b": 2, "a": 1}).id == first.id
    drain(app)
    assert echo.options(idempotency_key="k").submit({"a": 1, "b": 2}).id == first.id  # finished and moved, and still known
    assert count(db) == 1


def test_the_same_key_with_another_body_is_refused(app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    @app.job("other")
    def other(ctx: Context, value: Any) -> None: ...

    first = echo.options(idempotency_key="k").submit(1)
    for submit in (lambda: echo.options(idempotency_key="k").submit(2), lambda: other.options(idempotency_key="k").submit(1)):
        with pytest.raises(IdempotencyConflict, match=f"belongs to job {first.id}") as caught:
            submit()
        assert caught.value.field == "idempotency_key"
    assert count(db) == 1


def test_keys_are_per_owner(echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    ids = {echo.options(idempotency_key="k", owner=owner).submit(n).id for n, owner in enumerate(["ada", "bob", None])}
    assert len(ids) == 3
    assert echo.options(idempotency_key="k", owner="bob").submit(1).id in ids


def test_one_key_from_twenty_threads_makes_one_job(echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    # Red with a key that is overwritten (`on conflict do update`) instead of deciding: twenty jobs.
    start = threading.Barrier(20)

    def submit(n: int) -> list[int]:
        start.wait()
        return [echo.options(idempotency_key=f"k{k}").submit("same").id for k in range(10)]

    with ThreadPoolExecutor(20) as threads:
        found = set(map(tuple, threads.map(submit, range(20))))
    assert len(found) == 1
    assert count(db) == 10


def test_a_key_is_forgotten_a_week_after_its_job_has_ended(app: Lanework, echo: Job[[Any], Any]) -> None:
    clock, keyed = Clock(app), echo.options(idempotency_key="k", max_age=10_000_000)
    first = keyed.submit(1)
    clock.advance(days=30)
    assert keyed.submit(1).id == first.id  # not ended yet: for ever
    drain(app)
    clock.advance(days=6)
    assert keyed.submit(1).id == first.id
    clock.advance(days=2)
    again = keyed.submit(1)
    assert again.id != first.id
    assert keyed.submit(1).id == again.id


def test_a_key_cannot_stand_for_many(echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    with pytest.raises(InvalidJob) as caught:
        echo.options(idempotency_key="k").submit_many([(1,), (2,)])
    assert (caught.value.field, count(db)) == ("idempotency_key", 0)
