"""Submitting, against real PostgreSQL: what is stored, and by which ways."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import psycopg
import pytest
from pydantic import BaseModel

from lanework import Context, Estimate, IdempotencyConflict, InvalidJob, Job, Lanework
from lanework._store import copying
from lanework._store.keeper import Keeper
from lanework._store.submits import acopy_in, copy_in, prepare_bulk
from lanework._store.verb import Verb, arun, run
from lanework.handlers import Payloads
from lanework.job import Options
from lanework.testing import Clock, drain
from tests.pace import bound
from tests.submit.rows import count


class Page(BaseModel):
    url: str
    words: int = 200


def test_what_is_submitted_is_stored_with_the_defaults_of_its_type(app: Lanework, echo: Job[[Any], Any]) -> None:
    info = echo.submit({"a": [1, "ö", None]}).info()
    assert (info.type, info.status, info.lane, info.payload) == ("echo", "approved", "default", {"value": {"a": [1, "ö", None]}})
    assert (info.priority, info.max_tries, info.attempt, info.tries_used, info.owner, info.tags) == (3, 7, 0, 0, None, ())
    assert info.deadline is not None
    assert info.deadline - info.created_at == timedelta(seconds=1000)


def test_a_submit_is_committed_before_anybody_is_told_and_both_are_one_call(
    app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Red with the hint inside the transaction of the job (nothing is stored while the hint waits), and with a call of its own.
    echo.submit("warm")
    db.execute(
        "create or replace function lanework.hint(p_lane text) returns void language sql as 'select pg_advisory_xact_lock(42)'"
    )
    calls: list[Verb[Any]] = []
    plain = Keeper.run

    def noted(self: Keeper, verb: Verb[Any]) -> Any:
        calls.append(verb)
        return plain(self, verb)

    monkeypatch.setattr(Keeper, "run", noted)
    with ThreadPoolExecutor(1) as pool:
        with db.transaction():
            db.execute("select pg_advisory_xact_lock(42)")
            submitted = pool.submit(echo.submit, "told of later")
            while count(db) < 2:
                assert not submitted.done()
        submitted.result(timeout=bound(60))
    assert len(calls) == 1


def test_a_session_that_cannot_be_promoted_now_does_not_undo_the_submit(
    app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]
) -> None:
    echo.submit("warm")
    with db.transaction(force_rollback=True):
        [(body,)] = db.execute("select pg_get_functiondef('lanework.promote_sessions'::regproc)").fetchall()
    db.execute(
        "create or replace function lanework.promote_sessions(p_sessions text[]) returns void language plpgsql as"
        " $$ begin raise exception 'not now'; end $$"
    )
    assert echo.options(session="s").submit("later").info().status == "blocked"
    db.execute(body)
    assert echo.options(session="s").submit("next").info().status == "blocked"
    assert [info.status for info in app.list()][-2:] == ["approved", "approved"]  # the first of the session, and the one before


#: What goes wrong where the hint is given, and what goes wrong where it is carried out: at the end of the transaction.
NOT_TOLD = {
    "at once": "raise exception 'nobody hears';",
    "at the commit": "insert into unheard values (1), (1);",
    "and the connection ends": "perform pg_terminate_backend(pg_backend_pid());",
}


@pytest.mark.parametrize("where", NOT_TOLD)
@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "async"])
def test_a_hint_that_fails_is_not_a_submit_that_failed(
    app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any], where: str, blocking: bool
) -> None:
    # Red without the word of the server that the job is stored: an error, and a job that nobody knows of.
    echo.submit("warm")
    db.execute("create table unheard (n int unique deferrable initially deferred)")
    db.execute(
        f"create or replace function lanework.hint(p_lane text) returns void language plpgsql as $$ begin {NOT_TOLD[where]} end $$"
    )

    async def main() -> int:
        job = await echo.asubmit("stored")
        await app.aclose()
        return job.id

    found = echo.submit("stored").id if blocking else asyncio.run(main())
    assert (count(db), app.get(found).status) == (2, "approved")
    # and a refusal is a refusal
    with pytest.raises(IdempotencyConflict):
        for value in "ab":
            echo.options(idempotency_key="k").submit(value)


@pytest.mark.parametrize("how", ["submit", "asubmit", "submit_many", "asubmit_many"])
def test_every_option_is_stored_by_every_way_to_submit(app: Lanework, echo: Job[[Any], Any], how: str) -> None:
    moment = datetime(2100, 1, 2, 3, 4, 5, tzinfo=UTC)
    # a tab, a newline, a backslash and quotes: COPY has escapes of its own
    owner, tags = "o'brien\t\\N\n", ["night", 'say "hi"\\', "{a,b}", "null", "tab\there"]
    value = ["\\", '"', "\t\n", "\\N", "é\u2028"]
    chosen = echo.options(priority=-5, run_at=moment, owner=owner, tags=tags, max_age=50, max_tries=2)

    async def with_async() -> int:
        async with app:
            return (await chosen.asubmit(value)).id if how == "asubmit" else (await chosen.asubmit_many([(value,)]))[0].id

    if how.startswith("a"):
        job_id = asyncio.run(with_async())
    else:
        job_id = chosen.submit(value).id if how == "submit" else chosen.submit_many([{"value": value}])[0].id
    info = app.get(job_id)
    assert (info.priority, info.status, info.run_at, info.max_tries) == (-5, "scheduled", moment, 2)
    assert (info.owner, info.tags, info.payload) == (owner, tuple(tags), {"value": value})
    assert info.deadline is not None
    assert info.deadline - info.created_at == timedelta(seconds=50)


@pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "async"])
def test_a_big_submit_is_sent_as_it_is_made(
    app: Lanework, echo: Job[[Any], Any], blocking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Red with blocks that the driver keeps until the end: all of the jobs in memory, and a server that waits for them.
    monkeypatch.setattr(copying, "BLOCK", 20)
    made = []

    def payloads(conn: Any) -> Iterator[str]:
        for place in range(100):
            if place % 20 == 0:
                made.append(conn.pgconn.flush())
            yield '{"value": "' + "x" * 100_000 + '"}'

    prepare = prepare_bulk(echo.handler, 100, Options())

    async def main() -> None:
        async with app, (await app._async_keeper()).connection() as conn:
            await acopy_in(conn, await arun(conn, prepare), cast("Payloads", payloads(conn)))

    if blocking:
        with app._sync_keeper().connection() as conn:
            copy_in(conn, run(conn, prepare), cast("Payloads", payloads(conn)))
    else:
        asyncio.run(main())
    assert made == [0, 0, 0, 0, 0]


@pytest.mark.parametrize("many", [False, True])
def test_a_delay_counts_from_the_database_s_time(app: Lanework, echo: Job[[Any], Any], many: bool) -> None:
    # Red with the delay added to this process's clock.
    Clock(app).advance(hours=-5)
    later = echo.options(run_at=timedelta(hours=1))
    info = (later.submit_many([(1,)])[0] if many else later.submit(1)).info()
    assert info.status == "scheduled"
    assert info.run_at is not None
    assert timedelta(minutes=59) < info.run_at - info.created_at <= timedelta(hours=1)
    assert info.run_at < datetime.now(UTC)


def test_a_moment_that_has_passed_is_now(echo: Job[[Any], Any]) -> None:
    past = echo.options(run_at=datetime(2001, 1, 1, tzinfo=UTC))
    assert [past.submit(1).info().status, past.submit_many([(1,)])[0].info().status] == ["approved", "approved"]


def test_a_hundred_thousand_in_one_call(app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    handles = echo.submit_many([(n,) for n in range(100_000)])
    assert len({handle.id for handle in handles}) == 100_000
    wrong = "select count(*) from lanework.jobs where (payload ->> 'value')::int <> id - %s or status <> 'approved' or rank <> -3"
    assert db.execute(wrong, (handles[0].id,)).fetchone() == (0,)
    assert count(db) == 100_000


def test_many_are_all_or_nothing(echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    # 2,000 rows are one block of the COPY: with one commit a block, 2,000 or 4,000 rows would stay.
    for bad in (0, 2500, 4999):
        items: list[Any] = [(n,) for n in range(5000)]
        items[bad] = (float("nan"),)
        with pytest.raises(InvalidJob) as caught:
            echo.submit_many(items)
        assert (caught.value.field, count(db)) == ("value", 0)
    assert len(echo.submit_many(items[:10])) == 10  # and the connection is as good as before


def test_bulk_submits_at_the_same_moment_keep_their_ids_apart(app: Lanework, echo: Job[[Any], Any]) -> None:
    # Red with `ids` always taken as following each other from `first`: duplicate keys, or handles of somebody else's jobs.
    def submit(who: int) -> list[int]:
        return [handle.id for handle in echo.submit_many([([who, n],) for n in range(3000)])]

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(submit, range(4)))
    for who, ids in enumerate(found):
        assert [app.get(ids[n]).payload["value"] for n in (0, 1500, 2999)] == [[who, 0], [who, 1500], [who, 2999]]


def test_models_go_in_as_json_and_come_out_as_models(app: Lanework) -> None:
    @app.job("fetch")
    def fetch(ctx: Context, page: Page, since: datetime) -> Page:
        assert isinstance(page, Page)
        assert isinstance(since, datetime)
        return Page(url=page.url.upper(), words=page.words + since.year)

    handle = fetch.submit(Page(url="u"), since=datetime(2020, 1, 1, tzinfo=UTC))
    assert handle.info().payload["page"] == {"url": "u", "words": 200}
    drain(app)
    assert handle.result(timeout=5) == {"url": "U", "words": 2220}  # type: ignore[comparison-overlap]
    with pytest.raises(InvalidJob) as caught:
        cast("Any", fetch).submit({"url": 7}, since=datetime(2020, 1, 1, tzinfo=UTC))
    assert caught.value.field.startswith("page")


def test_older_payloads_are_upgraded_and_newer_ones_left_alone(database: str) -> None:
    with Lanework(database) as old:

        @old.job("greet")
        def greet(ctx: Context, name: str) -> str:
            return name

        first = greet.submit("Ada Lovelace")
    with Lanework(database) as newest:

        @newest.job("greet", version=3)
        def greet3(ctx: Context, names: list[str], loud: bool) -> str:
            return " ".join(names) + ("!" if loud else "")

        third = greet3.submit(["Grace"], True)
    with Lanework(database) as new:

        @new.job("greet", version=2)
        def greet2(ctx: Context, names: list[str]) -> str:
            return "-".join(names)

        @greet2.upgrade(from_version=1)
        def split(payload: dict[str, Any]) -> dict[str, Any]:
            return {"names": payload["name"].split()}

        # the job of version 3 stays for a process that knows it; `drain` would wait for it
        async def work() -> str:
            async with new, new.worker():
                return cast("str", (await new._await(first.id, 20)).result)

        assert asyncio.run(work()) == "Ada-Lovelace"
        assert (new.get(third.id).status, new.get(third.id).attempt) == ("approved", 0)


def test_what_is_internal_is_submitted_by_code_alone(app: Lanework, echo: Job[[Any], Any], db: psycopg.Connection[Any]) -> None:
    @app.job(internal=True)
    def own(ctx: Context, value: int) -> None: ...

    @echo.estimator
    def estimate(ctx: Context, value: Any) -> Estimate:
        return Estimate(low=0.0)

    @app.maintenance("tidy", every=3600)
    def tidy(ctx: Context) -> None: ...

    waiting = own.options(run_at=timedelta(hours=1)).submit(1)
    stored, task = count(db), {"task": "tidy", "fence": 1}
    for name, arguments in (
        ("own", {"value": 2}),
        ("echo:estimate", {"value": 1}),
        ("tidy:maintenance", task),
    ):
        with pytest.raises(InvalidJob, match="the application's own"):
            app.submit_json(name, arguments)
        with pytest.raises(InvalidJob, match="the application's own"):
            app.schedules.create("nightly", name, payload=arguments, cron="0 3 * * *")
    with pytest.raises(InvalidJob, match="the application's own"):
        app.edit(waiting.id, {"value": 2})
    assert (count(db), waiting.info().payload) == (stored, {"value": 1})
    app.schedules.create("nightly", own, payload={"value": 3}, cron="0 3 * * *")
