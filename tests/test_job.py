"""A declared job: its options, its submits, its handles. The application behind it is a stand-in."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import psycopg
import pytest

from lanework import Lanework
from lanework._options import OptionValues
from lanework.context import Context
from lanework.errors import ConfigError, InvalidJob, JobCancelled, JobFailed, JobNotFinished, JobNotFound
from lanework.events import Event
from lanework.handlers import Handler, Handlers, Payloads
from lanework.job import Declares, Handle, Job, JobInfo, Options, Submission
from lanework.outcomes import Snooze


def job_info(**changes: Any) -> JobInfo:
    base: dict[str, Any] = dict.fromkeys(JobInfo.__dataclass_fields__)
    return JobInfo(**{**base, "id": 1, "type": "digest", "status": "completed", "tags": (), **changes})


class Application(Declares):
    """Keeps what was submitted, and answers with the `JobInfo` it was given."""

    def __init__(self, info: JobInfo | None = None) -> None:
        self.handlers = Handlers()
        self.stored: list[Submission] = []
        self.bulks: list[tuple[Handler, list[str], Options]] = []
        self.found = info or job_info()
        self.committed = True

    def _submit(self, submission: Submission) -> int:
        self.stored.append(submission)
        return len(self.stored)

    async def _asubmit(self, submission: Submission) -> int:
        return self._submit(submission)

    def _submit_many(self, handler: Handler, payloads: Payloads, options: Options) -> list[int]:
        self.bulks.append((handler, list(payloads), options))
        return list(range(1, len(payloads) + 1))

    async def _asubmit_many(self, handler: Handler, payloads: Payloads, options: Options) -> list[int]:
        return self._submit_many(handler, payloads, options)

    def _info(self, job_id: int) -> JobInfo:
        if not self.committed:
            raise JobNotFound(f"there is no job {job_id}")
        return self.found

    async def _ainfo(self, job_id: int) -> JobInfo:
        return self._info(job_id)

    def _wait(self, job_id: int, timeout: float | None) -> JobInfo:
        return self.found

    async def _await(self, job_id: int, timeout: float | None) -> JobInfo:
        return self.found

    def cancel(self, job_id: int, *, by: str = "", reason: str = "", children: bool = True) -> str:
        return f"cancelled {job_id} {reason}"

    async def acancel(self, job_id: int, *, by: str = "", reason: str = "", children: bool = True) -> str:
        return self.cancel(job_id, by=by, reason=reason)

    def events(self, *, after: str | None = None, job: int | None = None) -> Iterator[Event]:
        yield Event(f"{job}.{after}", datetime.now(UTC), "job", "submitted")

    async def aevents(self, *, after: str | None = None, job: int | None = None) -> AsyncIterator[Event]:
        for event in self.events(after=after, job=job):
            yield event


@pytest.fixture
def app() -> Application:
    return Application()


@pytest.fixture
def digest(app: Application) -> Job[[str, int], dict[str, int]]:
    @app.job
    def digest(ctx: Context, url: str, words: int) -> dict[str, int] | Snooze:
        """Makes it short."""
        return {url: words}

    return digest


# Declaring


def test_the_forms_of_the_decorator(app: Application) -> None:
    @app.job
    def one(ctx: Context) -> None: ...

    @app.job()
    def two(ctx: Context) -> None: ...

    @app.job("number three", lane="night", timeout=5)
    async def three(ctx: Context) -> None: ...

    assert list(app.handlers) == ["one", "two", "number three"]
    assert (three.name, three.handler.lane, three.handler.timeout) == ("number three", "night", 5.0)
    assert app.handlers["number three"].executor == "async"


def test_wrong_uses_of_the_decorator(app: Application) -> None:
    with pytest.raises(ConfigError, match="takes a name or a function first, got 5"):
        app.job(5)  # type: ignore[call-overload]
    with pytest.raises(ConfigError, match="unknown option 'lain'"):
        app.job(lain="x")(lambda ctx: None)  # type: ignore[call-overload]

    @app.job
    def once(ctx: Context) -> None: ...

    with pytest.raises(ConfigError, match="job 'once' is declared twice"):
        app.job("again")(once)
    assert list(app.handlers) == ["once"]


def test_a_job_looks_like_its_function_and_can_be_called(digest: Job[[str, int], dict[str, int]]) -> None:
    assert digest.__doc__ == "Makes it short."
    assert digest.__name__ == "digest"  # type: ignore[attr-defined]
    assert list(inspect.signature(digest).parameters) == ["ctx", "url", "words"]
    context: Any = None
    assert digest(context, "u", 3) == {"u": 3}
    assert repr(digest) == "<Job 'digest'>"


def test_upgrades_are_declared_on_the_job(app: Application) -> None:
    @app.job(version=2)
    def fn(ctx: Context, url: str) -> None: ...

    @fn.upgrade(from_version=1)
    def rename(payload: dict[str, Any]) -> dict[str, Any]:
        return {"url": payload["link"]}

    assert rename({"link": "u"}) == {"url": "u"}
    assert fn.handler.load({"link": "u"}, 1) == {"url": "u"}


# Submitting


def test_submits_are_twins(app: Application, digest: Job[[str, int], dict[str, int]]) -> None:
    assert digest.submit("u", 3).id == 1
    assert asyncio.run(digest.asubmit("u", 3)).id == 2
    assert app.stored[0] == app.stored[1] == Submission(digest.handler, '{"url":"u","words":3}', Options())


def test_nothing_is_stored_when_an_argument_is_wrong(app: Application, digest: Job[..., Any]) -> None:
    with pytest.raises(InvalidJob):
        digest.submit("u", "many")
    with pytest.raises(InvalidJob):
        asyncio.run(digest.asubmit())
    with pytest.raises(InvalidJob):
        digest.submit_many([("u", 1), ("u", "many")])
    assert not app.stored
    assert not app.bulks


def test_bulk(app: Application, digest: Job[[str, int], dict[str, int]]) -> None:
    handles = digest.options(priority=3).submit_many([("a", 1), {"url": "b", "words": 2}])
    assert [handle.id for handle in handles] == [1, 2]
    (handler, payloads, options) = app.bulks[0]
    assert handler is digest.handler
    assert [json.loads(each) for each in payloads] == [{"url": "a", "words": 1}, {"url": "b", "words": 2}]
    assert options == Options(priority=3)
    assert len(asyncio.run(digest.asubmit_many([("a", 1)]))) == 1
    assert digest.submit_many([]) == asyncio.run(digest.asubmit_many([])) == []
    assert len(app.bulks) == 2


@pytest.mark.parametrize("items", ["abc", {"url": "u", "words": 1}, b"x"])
def test_bulk_wants_many_items(digest: Job[..., Any], items: Any) -> None:
    with pytest.raises(InvalidJob, match="items: expected a list of tuples or dicts"):
        digest.submit_many(items)


def test_one_key_is_for_one_job(digest: Job[..., Any]) -> None:
    with pytest.raises(InvalidJob, match="one key names one job") as caught:
        digest.options(idempotency_key="k").submit_many([("u", 1)])
    assert caught.value.field == "idempotency_key"


# Options


def test_options_add_up_and_leave_the_job_alone(app: Application, digest: Job[[str, int], dict[str, int]]) -> None:
    owned = digest.options(owner="ann", tags=["a", "b", "a"])
    owned.options(priority=-1000, max_age=timedelta(hours=1), owner=None).submit("u", 1)
    digest.submit("u", 1)
    assert app.stored[0].options == Options(priority=-1000, tags=("a", "b"), max_age=3600.0)
    assert app.stored[1].options == Options()
    with pytest.raises(FrozenInstanceError):
        app.stored[1].options.priority = 5  # type: ignore[misc]


def test_the_typed_options_are_the_options() -> None:
    assert set(OptionValues.__annotations__) == set(Options.__dataclass_fields__)


def test_moments(app: Application, digest: Job[[str, int], dict[str, int]]) -> None:
    for moment in (datetime(2030, 1, 1, tzinfo=UTC), datetime.now(timezone(timedelta(hours=2))), timedelta(hours=1)):
        digest.options(run_at=moment).submit("u", 1)
        assert app.stored[-1].options.run_at == moment


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"priority": 1001}, "priority: expected an int from -1000 to 1000, got 1001 (int)"),
        ({"priority": "high"}, "got 'high' (str)"),
        ({"priority": True}, "got True (bool)"),
        ({"priority": 1.0}, "got 1.0 (float)"),
        ({"run_at": datetime(2030, 1, 1)}, "a naive one has no moment, got datetime.datetime(2030, 1, 1"),
        ({"run_at": datetime(9999, 1, 1, tzinfo=UTC)}, "run_at: expected a year from 2000 to 2200"),
        ({"run_at": datetime(1999, 1, 1, tzinfo=UTC)}, "run_at: expected a year from 2000 to 2200"),
        ({"run_at": "99999-01-01T00:00:00Z"}, "expected a datetime with a time zone, or a timedelta from now"),
        ({"run_at": 1e12}, "expected a datetime"),
        ({"run_at": timedelta(seconds=-1)}, "expected a timedelta from 0 to a hundred years"),
        ({"run_at": timedelta.max}, "expected a timedelta from 0"),
        ({"idempotency_key": ""}, "idempotency_key: expected text of 1 to 200 characters, got ''"),
        ({"idempotency_key": "k" * 201}, "expected text of 1 to 200"),
        ({"idempotency_key": "a\0"}, "without NUL characters"),
        ({"owner": "\ud800"}, "lone surrogates"),
        ({"owner": 7}, "owner: expected text"),
        ({"tags": "abc"}, "tags: expected a list of texts, got 'abc'"),
        ({"tags": 5}, "tags: expected a list of texts"),
        ({"tags": ["x" * 101]}, "tags: expected text of 1 to 100"),
        ({"tags": ["\0"]}, "tags: expected text without NUL"),
        ({"tags": map(str, range(21))}, "at most 20 tags, not 21"),
        ({"max_age": 0}, "max_age: expected more than 0 seconds"),
        ({"max_age": float("nan")}, "max_age: expected seconds"),
        ({"max_age": timedelta(-1)}, "max_age: expected more than 0 seconds"),
        ({"max_tries": 0}, "max_tries: expected an int from 1 to 100, got 0"),
        ({"prority": 1}, "unknown option 'prority': did you mean 'priority'?"),
        ({"xyz": 1}, "unknown option 'xyz'; known: priority, run_at"),
    ],
)
def test_wrong_options_are_named(app: Application, digest: Job[..., Any], options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        digest.options(**options)
    assert says in str(caught.value)
    assert caught.value.field == next(iter(options))


def test_against_the_real_application(database: str) -> None:
    with Lanework(database) as real:

        @real.job
        def digest(ctx: Context, url: str, words: int = 200) -> None: ...

        one = digest.options(priority=5, tags=['a"b\\', "ü"], owner="ann").submit('a"b\\ü\t', words=3)
        many = digest.options(owner="bob").submit_many([('a"b\\ü\t\n', n) for n in range(1000)])
        for bad in (("\0",), (1,), ("x" * 300_000,)):
            with pytest.raises(InvalidJob):
                digest.submit_many([("fine",), bad])
        found = one.info()
        assert (found.payload, found.priority, found.tags) == ({"url": 'a"b\\ü\t', "words": 3}, 5, ('a"b\\', "ü"))
        assert [many[n].info().payload["words"] for n in (0, 999)] == [0, 999]
        assert len(real.list(limit=1000, owner="bob")) == 1000
        assert len(real.list(limit=1000, owner="ann")) == 1
        assert {each.id for each in real.list(limit=1)} == {many[-1].id}
        with pytest.raises(JobNotFinished):
            one.result(timeout=0.01)


# Handles


def test_results() -> None:
    handle: Handle[Any] = Handle(Application(job_info(result={"a": 1})), 1)
    assert handle.result() == handle.result(timeout=5) == asyncio.run(handle.aresult()) == {"a": 1}
    assert handle.wait() == asyncio.run(handle.await_()) == handle.info() == asyncio.run(handle.ainfo())
    assert [event.cursor for event in handle.events(after="x")] == ["1.x"]
    assert handle.cancel("enough") == asyncio.run(handle.acancel("enough")) == "cancelled 1 enough"


@pytest.mark.parametrize(
    ("found", "kind", "says"),
    [
        (
            job_info(status="failed", error_class="permanent", error="ValueError: no"),
            JobFailed,
            "job 1 (digest) failed as permanent: ValueError: no",
        ),
        (job_info(status="cancelled", error="asked by ann"), JobCancelled, "job 1 (digest) was cancelled: asked by ann"),
        (job_info(status="cancelled"), JobCancelled, "job 1 (digest) was cancelled"),
        (job_info(status="running"), JobNotFinished, "job 1 (digest) is running; it goes on"),
    ],
)
def test_results_of_jobs_that_did_not_complete(found: JobInfo, kind: type[Exception], says: str) -> None:
    handle: Handle[Any] = Handle(Application(found), 1)
    calls: list[Callable[[], Any]] = [handle.result, lambda: asyncio.run(handle.aresult())]
    for call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert str(caught.value) == says
    if found.status == "failed":
        with pytest.raises(JobFailed) as failed:
            handle.result()
        assert (failed.value.job_id, failed.value.error_class) == (1, "permanent")


def test_finished() -> None:
    finals = [job_info(status=status).finished for status in ("completed", "failed", "cancelled")]
    others = [job_info(status=status).finished for status in ("approved", "running", "scheduled", "blocked")]
    assert all(finals)
    assert not any(others)


def test_a_handle_from_an_open_transaction_does_not_wait(empty_database: str, app: Application, digest: Job[..., Any]) -> None:
    app.committed = False
    with psycopg.connect(empty_database) as connection:
        connection.execute("select 1")
        first = digest.options(connection=connection).submit("u", 1)
        (second,) = digest.options(connection=connection).submit_many([("u", 1)])
        for handle in (first, second):
            with pytest.raises(JobNotFinished, match="in a transaction that is still open: commit it"):
                handle.result()
            with pytest.raises(JobNotFinished, match="still open"):
                asyncio.run(handle.await_())
        connection.commit()
        app.committed = True
        connection.execute("select 1")
        first.wait()  # the job is there: this is another transaction of the same connection
        connection.execute("select 1")
        first.wait()  # another transaction of the same connection does not matter
        connection.rollback()


def test_handles_compare_by_job(app: Application) -> None:
    one: Handle[Any] = Handle(app, 1)
    assert one == Handle(app, 1)
    assert one not in {Handle(app, 2), Handle(Application(), 1)}
    assert repr(one) == "<Handle job=1>"
