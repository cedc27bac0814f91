"""`Lanework`, the application: declare jobs, submit them, read them, manage lanes, work."""

from __future__ import annotations

import asyncio
import builtins
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from lanework import _preparing
from lanework._children import ChildResult, results
from lanework._declaration import EXECUTORS as BUILT_IN
from lanework._handle import FINAL, Handle
from lanework._hinting import Hinter, target
from lanework._loading import Target
from lanework._options import OptionValues
from lanework._pools.base import Executor
from lanework._store import callers, submits
from lanework._store.hints import careful_hint
from lanework._store.inside import item_errors, list_children, list_steps
from lanework._store.keeper import AsyncKeeper, Keeper
from lanework._store.overview import delete_job
from lanework._store.reads import cancel, get_job, is_finished, job_attempts, job_logs, list_jobs
from lanework._store.verb import Verb, arun, run
from lanework._store.workers import health, unserved_types, workers
from lanework.config import Settings
from lanework.context import Context, inside
from lanework.errors import ConfigError, InvalidJob, JobNotFinished, JobNotFound, JobRunning, LaneworkError, WouldDeadlock
from lanework.handlers import Handler, Handlers, Payloads
from lanework.hooks import Hooks
from lanework.job import Declares, JobInfo, Options, Submission
from lanework.lanes import Lanes, check
from lanework.overview import Overview, look
from lanework.reports import (
    Attempt,
    ItemFailure,
    LogEntry,
    Step,
    WorkerInfo,
    attempt_row,
    item_row,
    log_row,
    step_row,
    worker_row,
)
from lanework.retries import Classifier
from lanework.secrets import Secrets

if TYPE_CHECKING:
    from lanework.worker import Worker

T = TypeVar("T")
STATUSES = ("pending", "awaiting_approval", "scheduled", "blocked", "approved", "running", "completed", "failed", "cancelled")
MOST_LISTED = 1000


class Lanework(Declares):
    """One per application. With no `dsn` (and no LANEWORK_DSN) it starts, or shares, an embedded PostgreSQL.

    Nothing is connected before the first call that needs it. Sync and async calls are twins: `get` and `aget`.
    """

    def __init__(self, dsn: str | None = None, **settings: Any) -> None:
        self.settings = Settings.load(dsn=dsn, **settings)
        self.handlers = Handlers()
        self.hooks = Hooks()
        self.classifiers: list[Classifier] = []
        self.secrets = Secrets()
        self.executors: dict[str, Callable[[str], Executor]] = {}
        self.lanes = Lanes(self)
        self._lane_values: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._prepared: _preparing.Prepared | None = None
        self._type_ids: dict[str, int] = {}
        self._keeper: Keeper | None = None
        self._keepers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncKeeper] = weakref.WeakKeyDictionary()
        self._hinter = Hinter(self)
        self._workers: list[Worker] = []

    # -- life ----------------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        await self.aclose()

    def close(self) -> None:
        """Closes the connections; the last user of an embedded server stops it."""
        with self._lock:
            keeper, self._keeper = self._keeper, None
            prepared, self._prepared = self._prepared, None
            self._type_ids = {}
        if keeper is not None:
            keeper.close()
        if prepared is not None:
            prepared.release()

    async def aclose(self) -> None:
        await self._close_loop()
        await asyncio.to_thread(self.close)

    async def _close_loop(self) -> None:
        """Closes the connections that belong to this event loop."""
        keeper = self._keepers.pop(asyncio.get_running_loop(), None)
        if keeper is not None:
            await keeper.close()

    def worker(self, *, lanes: Sequence[str] | None = None, name: str | None = None, **settings: Any) -> Worker:
        """`async with app.worker():` works jobs in this process for as long as the block lasts."""
        from lanework.worker import Worker  # noqa: PLC0415 - who only submits does not load the machinery of working

        return Worker(self, lanes=lanes, name=name, **settings)

    def lane(self, name: str, **values: Any) -> None:
        """First values of a lane, for the start that finds no row for it: `app.lane("interactive", max_slots=2)`. What an
        operator has set is never overwritten."""
        check(name, values)
        self._lane_values[name] = values

    def executor(self, name: str, factory: Callable[[str], Executor]) -> None:
        """Registers a place where bodies can run: `@app.job(executor=name)`. `factory` gets a lane's name and makes the
        executor of that lane, in each worker that needs it; see `Executor`."""
        if name in BUILT_IN:
            raise ConfigError(f"executor: {name!r} is built in; choose another name")
        self.executors[name] = factory

    def classifier(self, function: Classifier) -> Classifier:
        """Registers a function that says what an exception means; see `Classifier`."""
        self.classifiers.append(function)
        return function

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, job_id: int) -> JobInfo:
        return _answered(job_id, self._run(get_job(job_id)))

    async def aget(self, job_id: int) -> JobInfo:
        return _answered(job_id, await self._arun(get_job(job_id)))

    def list(self, **filters: Any) -> builtins.list[JobInfo]:
        """Newest first. Filters: status, type, lane (one or several), owner, tag, error_class, created_after, before, limit.

        Pages: pass the last id of a page as `before` to get the next one.
        """
        return self._run(_list(**filters))

    async def alist(self, **filters: Any) -> builtins.list[JobInfo]:
        return await self._arun(_list(**filters))

    def logs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> builtins.list[LogEntry]:
        return [log_row(row) for row in self._run(job_logs(job_id, after, limit))]

    async def alogs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> builtins.list[LogEntry]:
        return [log_row(row) for row in await self._arun(job_logs(job_id, after, limit))]

    def attempts(self, job_id: int) -> builtins.list[Attempt]:
        """The attempts that did not succeed, each with its error and traceback."""
        return [attempt_row(row) for row in self._run(job_attempts(job_id))]

    async def aattempts(self, job_id: int) -> builtins.list[Attempt]:
        return [attempt_row(row) for row in await self._arun(job_attempts(job_id))]

    def steps(self, job_id: int, *, limit: int = 1000) -> builtins.list[Step]:
        """The stored steps of a job, in the order in which they were stored."""
        return [step_row(row) for row in self._run(list_steps(job_id, limit))]

    async def asteps(self, job_id: int, *, limit: int = 1000) -> builtins.list[Step]:
        return [step_row(row) for row in await self._arun(list_steps(job_id, limit))]

    def item_errors(self, job_id: int, *, limit: int = 1000) -> builtins.list[ItemFailure]:
        """The items of a partial job that failed."""
        return [item_row(row) for row in self._run(item_errors(job_id, limit))]

    async def aitem_errors(self, job_id: int, *, limit: int = 1000) -> builtins.list[ItemFailure]:
        return [item_row(row) for row in await self._arun(item_errors(job_id, limit))]

    def children(self, job_id: int) -> builtins.list[ChildResult]:
        rows = self._run(list_children(job_id))
        return results(rows)

    async def achildren(self, job_id: int) -> builtins.list[ChildResult]:
        rows = await self._arun(list_children(job_id))
        return results(rows)

    def workers(self, *, ended: bool = False) -> builtins.list[WorkerInfo]:
        return [worker_row(row) for row in self._run(workers(ended=ended))]

    async def aworkers(self, *, ended: bool = False) -> builtins.list[WorkerInfo]:
        return [worker_row(row) for row in await self._arun(workers(ended=ended))]

    def cancel(self, job_id: int, *, by: str = "", reason: str = "") -> str:
        """`cancelled` at once for a waiting job, `stopping` for a running one, or the final state that came first."""
        return _answered(job_id, self._run(cancel(job_id, by, reason)))

    async def acancel(self, job_id: int, *, by: str = "", reason: str = "") -> str:
        return _answered(job_id, await self._arun(cancel(job_id, by, reason)))

    def delete(self, job_id: int, *, by: str = "") -> None:
        """Removes a job that has ended, with its log, steps and result."""
        _deleted(job_id, self._run(delete_job(job_id, by)))

    async def adelete(self, job_id: int, *, by: str = "") -> None:
        _deleted(job_id, await self._arun(delete_job(job_id, by)))

    async def aoverview(self) -> Overview:
        """Each lane's slots and who holds them, what waits there, and the totals."""
        return await look(self)

    def health(self) -> dict[str, Any]:
        """Is the database there, who works, who leads, is anything waiting that nobody serves?"""
        try:
            return self._healthy(self._run(health()), self._run(unserved_types()))
        except LaneworkError as error:
            return self._ill(error)

    async def ahealth(self) -> dict[str, Any]:
        try:
            return self._healthy(await self._arun(health()), await self._arun(unserved_types()))
        except LaneworkError as error:
            return self._ill(error)

    def _healthy(self, row: Any, unserved: Any) -> dict[str, Any]:
        version, fsync, connections, notifications, living, leader = row
        here = [worker.health() for worker in self._workers]
        failing = [one for worker in here for one in worker["services"] if one["state"] == "failing"]
        return {
            "ok": not failing and not unserved,
            "database": {"version": version, "durable": fsync, "max_connections": connections, "notify_queue": notifications},
            "workers": living,
            "leader": leader,
            "unserved_types": [{"type": kind, "lane": lane} for kind, lane in unserved],
            "here": here,
        }

    def _ill(self, error: LaneworkError) -> dict[str, Any]:
        return {"ok": False, "error": str(error), "code": error.code, "here": [worker.health() for worker in self._workers]}

    # -- submitting by name ---------------------------------------------------------------------------------------------

    def submit_json(self, type: str, arguments: Mapping[str, Any], **options: Unpack[OptionValues]) -> Handle[Any]:
        """Submits a declared job whose arguments are JSON already: from HTTP, a command line, a schedule."""
        handler = self.handlers[type]
        submission = Submission(handler, handler.bind_json(arguments), Options().changed(options))
        return Handle(self, self._submit(submission))

    async def asubmit_json(self, type: str, arguments: Mapping[str, Any], **options: Unpack[OptionValues]) -> Handle[Any]:
        handler = self.handlers[type]
        submission = Submission(handler, handler.bind_json(arguments), Options().changed(options))
        return Handle(self, await self._asubmit(submission))

    # -- submitting, for Job -------------------------------------------------------------------------------------------

    def _submit(self, submission: Submission) -> int:
        self._ensure(submission.handler)
        connection = submission.options.connection
        if connection is None:
            stored = self._run(submits.enqueue(submission, hint=False))
            self._hinter.send(target(stored.lane, submission.options.session))
            return stored.id
        later = callers.tells_of_commit(connection)
        stored = callers.run_in(connection, submits.enqueue(submission, hint=not later))
        if later:
            callers.after_commit(connection, self._hinter.send, target(stored.lane, submission.options.session))
        return stored.id

    async def _asubmit(self, submission: Submission) -> int:
        await self._aensure(submission.handler)
        connection = submission.options.connection
        if connection is None:
            stored = await self._arun(submits.enqueue(submission, hint=False))
            self._hinter.asend(target(stored.lane, submission.options.session))
            return stored.id
        stored = await callers.arun_in(connection, submits.enqueue(submission, hint=True))
        return stored.id

    def _submit_many(self, handler: Handler, payloads: Payloads, options: Options) -> Sequence[int]:
        _check_bulk(options)
        self._ensure(handler)
        if not payloads:
            return []
        prepare = submits.prepare_bulk(handler, len(payloads), options)
        if options.connection is not None:
            return self._submit_many_in(options.connection, prepare, payloads, options.session)
        with self._sync_keeper().connection() as conn:
            bulk = run(conn, prepare)
            submits.copy_in(conn, bulk, payloads)
        self._hinter.send(target(bulk.lane, options.session))
        return bulk.ids

    def _submit_many_in(
        self, connection: Any, prepare: Verb[submits.Bulk], payloads: Payloads, session: str | None
    ) -> Sequence[int]:
        # the statement before the COPY opens the caller's transaction, in his library's books as well as in the driver's:
        # a COPY that came first would be committed by itself
        bulk = callers.run_in(connection, prepare)
        submits.copy_in(callers.driver_of(connection), bulk, payloads)
        if callers.tells_of_commit(connection):
            callers.after_commit(connection, self._hinter.send, target(bulk.lane, session))
        else:
            callers.run_in(connection, careful_hint(target(bulk.lane, session)))
        return bulk.ids

    async def _asubmit_many(self, handler: Handler, payloads: Payloads, options: Options) -> Sequence[int]:
        _check_bulk(options)
        await self._aensure(handler)
        if not payloads:
            return []
        prepare = submits.prepare_bulk(handler, len(payloads), options)
        if options.connection is not None:
            return await self._asubmit_many_in(options.connection, prepare, payloads, options.session)
        async with (await self._async_keeper()).connection() as conn:
            bulk = await arun(conn, prepare)
            await submits.acopy_in(conn, bulk, payloads)
        self._hinter.asend(target(bulk.lane, options.session))
        return bulk.ids

    async def _asubmit_many_in(
        self, connection: Any, prepare: Verb[submits.Bulk], payloads: Payloads, session: str | None
    ) -> Sequence[int]:
        bulk = await callers.arun_in(connection, prepare)
        await submits.acopy_in(await callers.adriver_of(connection), bulk, payloads)
        await callers.arun_in(connection, careful_hint(target(bulk.lane, session)))
        return bulk.ids

    def _info(self, job_id: int) -> JobInfo:
        return self.get(job_id)

    async def _ainfo(self, job_id: int) -> JobInfo:
        return await self.aget(job_id)

    def _wait(self, job_id: int, timeout: float | None) -> JobInfo:
        if (context := inside.get()) is not None:
            _check_wait(context, self.get(job_id))
        deadline = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses():
            if _answered(job_id, self._run(is_finished(job_id))):
                return self.get(job_id)
            time.sleep(_next(job_id, pause, deadline, timeout))
        raise AssertionError("unreachable")

    async def _await(self, job_id: int, timeout: float | None) -> JobInfo:
        if (context := inside.get()) is not None:
            _check_wait(context, await self.aget(job_id))
        deadline = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses():
            if _answered(job_id, await self._arun(is_finished(job_id))):
                return await self.aget(job_id)
            await asyncio.sleep(_next(job_id, pause, deadline, timeout))
        raise AssertionError("unreachable")

    # -- the database --------------------------------------------------------------------------------------------------

    def _run(self, verb: Verb[T]) -> T:
        return self._sync_keeper().run(verb)

    async def _arun(self, verb: Verb[T]) -> T:
        return await (await self._async_keeper()).run(verb)

    def _sync_keeper(self) -> Keeper:
        if self._keeper is None:
            prepared = self._ready()
            with self._lock:
                if self._keeper is None:
                    self._keeper = Keeper(prepared.dsn, self.settings, "client", self.settings.connections)
        return self._keeper

    async def _async_keeper(self) -> AsyncKeeper:
        loop = asyncio.get_running_loop()
        keeper = self._keepers.get(loop)
        if keeper is None:
            dsn = await self._prepare()
            keeper = self._keepers.setdefault(loop, AsyncKeeper(dsn, self.settings, "client", self.settings.connections))
        return keeper

    async def _prepare(self) -> str:
        prepared = await asyncio.to_thread(self._ready)
        return prepared.dsn

    def _ready(self) -> _preparing.Prepared:
        """Once per process: the server, its schema, and this application's types in it."""
        with self._lock:
            if self._prepared is None:
                self._prepared = _preparing.Prepared(self.settings)
            if set(self._type_ids) != set(self.handlers):
                self._type_ids = _preparing.register_types(self._prepared.dsn, self.settings, self.handlers, self._lane_values)
            return self._prepared

    def _ensure(self, handler: Handler) -> None:
        if handler.name not in self._type_ids:
            self._ready()

    async def _aensure(self, handler: Handler) -> None:
        if handler.name not in self._type_ids:
            await self._prepare()

    @property
    def _embedded_folder(self) -> str | None:
        lease = None if self._prepared is None else self._prepared.lease
        return None if lease is None else str(lease.folder)

    @property
    def _target(self) -> Target | None:
        try:
            return Target.of(self)
        except ConfigError:
            return None

    def __repr__(self) -> str:
        return f"<Lanework {len(self.handlers)} jobs, {(self.settings.dsn and 'PostgreSQL') or 'embedded PostgreSQL'}>"


def _answered(job_id: int, answer: T | None) -> T:
    if answer is None:
        raise JobNotFound(f"there is no job {job_id}")
    return answer


def _deleted(job_id: int, status: str | None) -> None:
    if _answered(job_id, status) not in FINAL:
        raise JobRunning(f"job {job_id} is {status}; only a job that has ended can be deleted: cancel it first")


def _check_wait(context: Context, other: JobInfo) -> None:
    """A job that holds a slot of a lane and waits for another job of that lane may wait for ever."""
    if not other.finished and other.lane == context.lane:
        raise WouldDeadlock(
            f"job {context.job_id} waits in a slot of lane {context.lane!r} for job {other.id}, "
            "which needs a slot of the same lane: submit it with ctx.submit_child and `return Wait([child])`, "
            "or move its type to another lane"
        )


def _check_bulk(options: Options) -> None:
    if options.idempotency_key is not None:
        raise InvalidJob("idempotency_key: one key cannot stand for many jobs; submit them one by one", field="idempotency_key")
    if options.continues is not None:
        raise InvalidJob("continues: many jobs cannot continue one; submit them one by one", field="continues")


def _pauses() -> Any:
    pause = 0.01
    while True:
        yield pause
        pause = min(pause * 1.5, 0.5)


def _next(job_id: int, pause: float, deadline: float | None, timeout: float | None) -> float:
    if deadline is None:
        return pause
    left = deadline - time.monotonic()
    if left <= 0:
        raise JobNotFinished(f"job {job_id} has not finished within {timeout} s; it goes on")
    return min(pause, left)


def _list(
    *,
    status: str | Sequence[str] | None = None,
    type: str | Sequence[str] | None = None,
    lane: str | Sequence[str] | None = None,
    owner: str | None = None,
    tag: str | None = None,
    error_class: str | None = None,
    created_after: datetime | None = None,
    before: int | None = None,
    limit: int = 100,
) -> Verb[list[JobInfo]]:
    statuses = _several(status)
    for one in statuses or ():
        if one not in STATUSES:
            raise InvalidJob(f"status: expected one of {', '.join(STATUSES)}, got {one!r}", field="status")
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidJob(f"limit: expected 1 to {MOST_LISTED}, got {limit!r}", field="limit")
    return list_jobs(
        statuses=statuses, types=_several(type), lanes=_several(lane), owner=owner, tag=tag, error_class=error_class,
        created_after=created_after, before=before, limit=limit,
    )  # fmt: skip


def _several(value: str | Sequence[str] | None) -> list[str] | None:
    return [value] if isinstance(value, str) else None if value is None else list(value)
