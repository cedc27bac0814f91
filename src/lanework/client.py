"""`Lanework`, the application: declare jobs, submit them, read them, manage lanes, work."""

from __future__ import annotations

import asyncio
import builtins
import os
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar, Unpack, overload

from lanework import _notifying, _preparing
from lanework._acts import Acts
from lanework._children import ChildResult, results
from lanework._codec import PAYLOAD_LIMIT, encode
from lanework._declaration import EXECUTORS as BUILT_IN
from lanework._handle import FINAL, Handle
from lanework._hinting import Hinter, target
from lanework._hub import Hub
from lanework._inputs import known_id, moment, page, place, texts
from lanework._limits.pool import PermitPool
from lanework._limits.slices import Share
from lanework._loading import Target
from lanework._options import OptionValues
from lanework._plans import Plans, ScheduleValues
from lanework._pools.base import Executor
from lanework._store import approvals as store
from lanework._store import callers, submits
from lanework._store.copying import Bulk
from lanework._store.dead import retry
from lanework._store.events import event_horizon
from lanework._store.explanations import explain
from lanework._store.hints import careful_hint
from lanework._store.inside import item_errors, list_children, list_steps
from lanework._store.keeper import AsyncKeeper, Keeper
from lanework._store.overview import delete_job
from lanework._store.reads import get_job, is_finished, job_attempts, job_logs, list_jobs
from lanework._store.schedules import schedule_alarms
from lanework._store.verb import Verb, arun, run, storable
from lanework._store.workers import health, unserved_types, workers
from lanework.approvals import Approvals
from lanework.budgets import Budgets
from lanework.config import Settings
from lanework.context import Context, inside
from lanework.dead import Dead
from lanework.errors import ConfigError, InvalidJob, JobNotFinished, JobNotFound, JobRunning, LaneworkError, WouldDeadlock
from lanework.events import Event, apages, pages, position
from lanework.explanations import Explanation
from lanework.freezes import Freezes
from lanework.handlers import Handler, Handlers, Payloads
from lanework.hooks import H, Hooks, Kind
from lanework.job import Declares, Job, JobInfo, Options, Scheduling, Submission
from lanework.lanes import Lanes, check
from lanework.maintenance import Maintenance
from lanework.metrics import Metric, metrics
from lanework.notifiers import Notifier
from lanework.operations import Operations
from lanework.overview import Overview, look
from lanework.permits import AppSource, Asked, Permit, Permits, Scope
from lanework.rates import Rate, Rates
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
from lanework.schedules import Schedules
from lanework.secrets import Secrets

if TYPE_CHECKING:
    from lanework.worker import Worker

T = TypeVar("T")
N = TypeVar("N", bound=Notifier)
P = ParamSpec("P")
R = TypeVar("R")
STATUSES = ("pending", "awaiting_approval", "scheduled", "blocked", "approved", "running", "completed", "failed", "cancelled")
MOST_LISTED = 1000


class Lanework(Acts, Declares):
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
        self.approvals = Approvals(self)
        self.dead = Dead(self)
        self._notifiers: dict[str, _notifying.Registered] = {}
        self._notifiers_told: set[str] = set()
        self.schedules = Schedules(self)
        self.maintenance = Maintenance(self)
        self._plans = Plans(self)
        self.operations = Operations(self)
        self.freezes = Freezes(self)
        self.permits = Permits(self)
        self.rates = Rates(self)
        self.budgets = Budgets(self)
        self._lane_values: dict[str, dict[str, Any]] = {}
        self._lanes_told: set[str] = set()
        self._lock = threading.Lock()
        self._prepared: _preparing.Prepared | None = None
        self._type_ids: dict[str, int] = {}
        self._keeper: Keeper | None = None
        self._keepers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncKeeper] = weakref.WeakKeyDictionary()
        self._hinter = Hinter(self)
        self._hub = Hub(self)
        self._workers: list[Worker] = []
        self._pool: PermitPool | None = None
        self._shares: dict[str, Share] = {}

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
        """Closes the connections, and ends subscriptions; the last user of an embedded server stops it."""
        self._hub.close()
        pool, self._pool = self._pool, None
        if pool is not None and pool.pid == os.getpid():
            pool.stop()
        with self._lock:
            keeper, self._keeper = self._keeper, None
            prepared, self._prepared = self._prepared, None
            self._type_ids, self._notifiers_told, self._lanes_told = {}, set(), set()
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

    @overload
    def schedule(self, name: str, job: Job[P, R], /, *args: Any, **values: Unpack[ScheduleValues]) -> Job[P, R]: ...

    @overload
    def schedule(self, name: str, /, **values: Unpack[ScheduleValues]) -> Scheduling: ...

    def schedule(self, name: str, job: Any = None, /, *args: Any, **values: Unpack[ScheduleValues]) -> Any:
        """First values of a schedule: `@app.schedule("nightly", cron="0 3 * * *")` above a job, or
        `app.schedule("nightly", report, "all", cron="0 3 * * *")`. Workers tell the database when they start; what an operator
        has changed, paused or removed stays so. `ScheduleValues` lists the values; `payload` has arguments by name."""
        if job is None:
            return lambda fn: self.schedule(name, fn, **values)
        declared = job if isinstance(job, Job) else self._declare(job, None, {})
        self._plans.add_schedule(name, declared.handler, args, values)
        return declared

    def condition(self, name_or_fn: Any = None, /, *, timeout: float = 60.0) -> Any:
        """Declares a function that schedules can name as their condition: `@app.condition`, `@app.condition("name")`."""
        if not callable(name_or_fn):
            return lambda fn: self._plans.add_condition(fn, name_or_fn, timeout) and fn
        self._plans.add_condition(name_or_fn, None, timeout)
        return name_or_fn

    def classifier(self, function: Classifier) -> Classifier:
        """Registers a function that says what an exception means; see `Classifier`."""
        self.classifiers.append(function)
        return function

    @overload
    def notifier(self, function: N, /) -> N: ...

    @overload
    def notifier(self, function: None = None, /, *, name: str | None = None, every: int = 60) -> Callable[[N], N]: ...

    def notifier(self, function: Any = None, /, *, name: str | None = None, every: int = 60) -> Any:
        """Registers a function that is told of dead letters, once of each: `@app.notifier`, or `@app.notifier(name="pager")`.
        Of one group it hears at most once in `every` seconds; see `Notifier`."""

        def register(function: N) -> N:
            chosen = name if name is not None else getattr(function, "__name__", "notifier")
            _notifying.register(self, chosen, function=function, every=every)
            return function

        return register if function is None else register(function)

    def webhook(self, url: str, *, secret: str | None = None, name: str = "webhook", every: int = 60) -> None:
        """Dead letters are posted to this address, signed with the secret. Operators may change it by `app.dead.webhooks`."""
        _notifying.register(self, name, url=url, secret=secret, every=every)

    # -- limits ----------------------------------------------------------------------------------------------------------

    def permit(
        self, *names: str, capacity: int | None = None, wait: float | None = None, ttl: float | None = None,
        scope: Scope = "cluster",
    ) -> Permit:  # fmt: skip
        """`with app.permit("openai", capacity=8):` or `async with`. Several names are taken together, all or none.

        capacity   its first value; later the row decides (`app.permits.set`). 1 unless given
        wait       seconds to wait, 30 unless given; 0: `PermitBusy` at once
        ttl        seconds after which the hold ends by itself unless it is renewed; without, it lives as long as this process
        scope      `cluster`, or one such permit for each `host` or `process`
        """
        context = inside.get()
        if context is not None:
            return context.permit(*names, capacity=capacity, wait=wait, ttl=ttl, scope=scope)
        return Permit(AppSource(self), Asked.checked(names, capacity, scope, ttl), wait)

    def permits_together(self, names: Sequence[str], **options: Any) -> Permit:
        """`app.permit` for a list of names."""
        return self.permit(*names, **options)

    def rate(self, name: str, *, requests: float | None = None, tokens: float | None = None, per: float = 60.0) -> Rate:
        """Requests and tokens that any `per` seconds may have; first values, later the row decides (`app.rates.set`)."""
        return Rate(self, name, requests, tokens, per)

    def _permit_pool(self) -> PermitPool:
        """The pool of a worker in this process, else one with a row of its own."""
        for worker in self._workers:
            return worker.permits
        if self._pool is None or self._pool.pid != os.getpid():
            self._pool = PermitPool(lambda: self._ready().dsn, self.settings)
        return self._pool

    def _share(self, name: str) -> Share:
        return self._shares.setdefault(name, Share())

    # -- reading -------------------------------------------------------------------------------------------------------

    def get(self, job_id: int) -> JobInfo:
        return _answered(job_id, self._run(get_job(known_id(job_id))))

    async def aget(self, job_id: int) -> JobInfo:
        return _answered(job_id, await self._arun(get_job(known_id(job_id))))

    def list(self, **filters: Any) -> builtins.list[JobInfo]:
        """Newest first. Filters: status, type, lane (one or several), owner, tag, error_class, created_after, before, limit.

        Pages: pass the last id of a page as `before` to get the next one.
        """
        return self._run(_list(**filters))

    async def alist(self, **filters: Any) -> builtins.list[JobInfo]:
        return await self._arun(_list(**filters))

    def logs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> builtins.list[LogEntry]:
        return [log_row(row) for row in self._run(job_logs(known_id(job_id), place(after, "after"), page(limit)))]

    async def alogs(self, job_id: int, *, after: int = 0, limit: int = 1000) -> builtins.list[LogEntry]:
        return [log_row(row) for row in await self._arun(job_logs(known_id(job_id), place(after, "after"), page(limit)))]

    def attempts(self, job_id: int) -> builtins.list[Attempt]:
        """The attempts that did not succeed, each with its error and traceback."""
        return [attempt_row(row) for row in self._run(job_attempts(known_id(job_id)))]

    async def aattempts(self, job_id: int) -> builtins.list[Attempt]:
        return [attempt_row(row) for row in await self._arun(job_attempts(known_id(job_id)))]

    def steps(self, job_id: int, *, limit: int = 1000) -> builtins.list[Step]:
        """The stored steps of a job, in the order in which they were stored."""
        return [step_row(row) for row in self._run(list_steps(known_id(job_id), page(limit)))]

    async def asteps(self, job_id: int, *, limit: int = 1000) -> builtins.list[Step]:
        return [step_row(row) for row in await self._arun(list_steps(known_id(job_id), page(limit)))]

    def item_errors(self, job_id: int, *, limit: int = 1000) -> builtins.list[ItemFailure]:
        """The items of a partial job that failed."""
        return [item_row(row) for row in self._run(item_errors(known_id(job_id), page(limit)))]

    async def aitem_errors(self, job_id: int, *, limit: int = 1000) -> builtins.list[ItemFailure]:
        return [item_row(row) for row in await self._arun(item_errors(known_id(job_id), page(limit)))]

    def children(self, job_id: int) -> builtins.list[ChildResult]:
        rows = self._run(list_children(known_id(job_id)))
        return results(rows)

    async def achildren(self, job_id: int) -> builtins.list[ChildResult]:
        rows = await self._arun(list_children(known_id(job_id)))
        return results(rows)

    def workers(self, *, ended: bool = False) -> builtins.list[WorkerInfo]:
        return [worker_row(row) for row in self._run(workers(ended=ended))]

    async def aworkers(self, *, ended: bool = False) -> builtins.list[WorkerInfo]:
        return [worker_row(row) for row in await self._arun(workers(ended=ended))]

    def explain(self, job_id: int) -> Explanation:
        """The one reason why it is not running now, and what would change it."""
        return self._run(explain(job_id))

    async def aexplain(self, job_id: int) -> Explanation:
        return await self._arun(explain(job_id))

    # -- watching ------------------------------------------------------------------------------------------------------

    def events(
        self, *, after: str | None = None, job: int | None = None, topics: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None, follow: bool = True,
    ) -> Iterator[Event]:  # fmt: skip
        """Events in order, from now on, or after a cursor ("0-0": from the oldest that is kept). With `job`, that job's own
        stream from its submit on, which ends after its final state. `follow=False` ends when there is nothing more now.

        `event.cursor` is where to go on, in this process or another. No connection is held between the reads.
        """
        for found in pages(self, position(after, job, topics, kinds), follow=follow):
            yield from found.events

    async def aevents(
        self, *, after: str | None = None, job: int | None = None, topics: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None, follow: bool = True,
    ) -> AsyncIterator[Event]:  # fmt: skip
        async for found in apages(self, position(after, job, topics, kinds), follow=follow):
            for event in found.events:
                yield event

    def on(self, kind: Kind) -> Callable[[H], H]:
        """Registers a hook, sync or async: `@app.on("failed")`. It runs in the worker's process, aside from its jobs."""
        return self.hooks.on(kind)

    def metrics(
        self, *, since: datetime | timedelta = timedelta(hours=1), until: datetime | timedelta | None = None,
        lane: str | Sequence[str] | None = None, type: str | Sequence[str] | None = None, step: timedelta | float | None = None,
    ) -> builtins.list[Metric]:  # fmt: skip
        """A row per lane and type, and per `step` (whole minutes) if there is one. `since`, `until`: a time, or how long ago."""
        return self._run(metrics(since, until, lane, type, step))

    async def ametrics(
        self, *, since: datetime | timedelta = timedelta(hours=1), until: datetime | timedelta | None = None,
        lane: str | Sequence[str] | None = None, type: str | Sequence[str] | None = None, step: timedelta | float | None = None,
    ) -> builtins.list[Metric]:  # fmt: skip
        return await self._arun(metrics(since, until, lane, type, step))

    # -- approving -----------------------------------------------------------------------------------------------------

    def approve(self, job_id: int, *, hash: str | None = None, limit: float | None = None, by: str = "") -> str:
        """Lets a job go that is `awaiting_approval`; answers its next state. `hash` is that of what you saw (`get(job_id).hash`):
        if the job has changed since, `ApprovalOutdated`. `limit`: up to this sum."""
        shown = self.get(job_id).hash if hash is None else hash
        return _answered(job_id, self._run(store.approve(known_id(job_id), shown, limit, by)))

    async def aapprove(self, job_id: int, *, hash: str | None = None, limit: float | None = None, by: str = "") -> str:
        shown = (await self.aget(job_id)).hash if hash is None else hash
        return _answered(job_id, await self._arun(store.approve(known_id(job_id), shown, limit, by)))

    def reject(self, job_id: int, reason: str, *, by: str = "") -> str:
        """Says no to a job that waits for its estimate or for an approval: it is cancelled, with the reason."""
        return _answered(job_id, self._run(store.reject(known_id(job_id), reason, by)))

    async def areject(self, job_id: int, reason: str, *, by: str = "") -> str:
        return _answered(job_id, await self._arun(store.reject(known_id(job_id), reason, by)))

    def edit(self, job_id: int, payload: Mapping[str, Any], *, by: str = "") -> str:
        """Gives a job that waits other arguments, all of them, and starts it anew: its approval, its estimate and its stored steps
        were for the old ones. Answers its next state."""
        return _answered(job_id, self._run(self._edit(self.get(job_id), payload, by)))

    async def aedit(self, job_id: int, payload: Mapping[str, Any], *, by: str = "") -> str:
        return _answered(job_id, await self._arun(self._edit(await self.aget(job_id), payload, by)))

    def _edit(self, job: JobInfo, payload: Mapping[str, Any], by: str) -> Verb[str | None]:
        """Checked by the handler's own annotations, where this application has it."""
        if job.type not in self.handlers:
            return store.edit(job.id, encode(dict(payload), field="payload", limit=PAYLOAD_LIMIT), None, by)
        handler = self.handlers[job.type]
        return store.edit(job.id, handler.bind_json(payload), handler.version, by)

    def retry(self, job_id: int, *, by: str = "", max_age: float | None = None) -> str:
        """Sends a failed job back to the queue: its attempts go on counting, its tries start again, its steps are kept. Answers
        its state. `max_age`: seconds from now; without it a deadline that has passed is given anew as its type says, or dropped."""
        return self._run(retry(job_id, by, max_age))

    async def aretry(self, job_id: int, *, by: str = "", max_age: float | None = None) -> str:
        return await self._arun(retry(job_id, by, max_age))

    def delete(self, job_id: int, *, by: str = "") -> None:
        """Removes a job that has ended, with its log, steps and result."""
        _deleted(job_id, self._run(delete_job(known_id(job_id), by)))

    async def adelete(self, job_id: int, *, by: str = "") -> None:
        _deleted(job_id, await self._arun(delete_job(known_id(job_id), by)))

    async def aoverview(self) -> Overview:
        """Each lane's slots and who holds them, what waits there, and the totals."""
        return await look(self)

    def health(self) -> dict[str, Any]:
        """Is the database there, who works, who leads, is anything waiting that nobody serves?"""
        try:
            alarms = self._run(schedule_alarms())
            return self._healthy(self._run(health()), self._run(unserved_types()), self._run(event_horizon()), alarms)
        except LaneworkError as error:
            return self._ill(error)

    async def ahealth(self) -> dict[str, Any]:
        try:
            alarms = await self._arun(schedule_alarms())
            horizon = await self._arun(event_horizon())
            return self._healthy(await self._arun(health()), await self._arun(unserved_types()), horizon, alarms)
        except LaneworkError as error:
            return self._ill(error)

    def _healthy(self, row: Any, unserved: Any, horizon: Any, alarms: Any) -> dict[str, Any]:
        version, fsync, connections, notifications, living, leader = row
        here = [worker.health() for worker in self._workers]
        failing = [one for worker in here for one in worker["services"] if one["state"] == "failing"]
        return {
            "ok": not failing and not unserved and not alarms,
            "database": {"version": version, "durable": fsync, "max_connections": connections, "notify_queue": notifications},
            "workers": living,
            "leader": leader,
            "unserved_types": [{"type": kind, "lane": lane} for kind, lane in unserved],
            "polling_only": any(worker["state"] == "running" and not worker["listening"] for worker in here),
            "events": _horizon(horizon),
            "alarms": [{"kind": kind, "name": name, "what": what} for kind, name, what in alarms],
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
            return self._run(submits.submit(submission, hint=self.settings.notify))
        later = callers.tells_of_commit(connection)
        stored = callers.run_in(connection, submits.enqueue(submission, hint=not later))
        if later:
            callers.after_commit(connection, self._hinter.send, target(stored.lane, submission.options.session))
        return stored.id

    async def _asubmit(self, submission: Submission) -> int:
        await self._aensure(submission.handler)
        connection = submission.options.connection
        if connection is None:
            return await self._arun(submits.submit(submission, hint=self.settings.notify))
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

    def _submit_many_in(self, connection: Any, prepare: Verb[Bulk], payloads: Payloads, session: str | None) -> Sequence[int]:
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
        self, connection: Any, prepare: Verb[Bulk], payloads: Payloads, session: str | None
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
            if _answered(job_id, self._run(is_finished(known_id(job_id)))):
                return self.get(job_id)
            time.sleep(_next(job_id, pause, deadline, timeout))
        raise AssertionError("unreachable")

    async def _await(self, job_id: int, timeout: float | None) -> JobInfo:
        if (context := inside.get()) is not None:
            _check_wait(context, await self.aget(job_id))
        deadline = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses():
            if _answered(job_id, await self._arun(is_finished(known_id(job_id)))):
                return await self.aget(job_id)
            await asyncio.sleep(_next(job_id, pause, deadline, timeout))
        raise AssertionError("unreachable")

    # -- the database --------------------------------------------------------------------------------------------------

    def _run(self, verb: Verb[T]) -> T:
        with storable():
            return self._sync_keeper().run(verb)

    async def _arun(self, verb: Verb[T]) -> T:
        with storable():
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
            if set(self._type_ids) != set(self.handlers) or self._lanes_told != set(self._lane_values):
                self._type_ids = _preparing.register_types(self._prepared.dsn, self.settings, self.handlers, self._lane_values)
                self._lanes_told = set(self._lane_values)
            if self._notifiers_told != set(self._notifiers):
                _preparing.register_notifiers(self._prepared.dsn, self.settings, [one.row() for one in self._notifiers.values()])
                self._notifiers_told = set(self._notifiers)
            return self._prepared

    def _declare_own(self) -> None:
        """The engine's own job types, in every process that works."""
        _notifying.declare(self)

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


def _horizon(row: Any) -> dict[str, Any]:
    """The stream of all events ends at the oldest transaction that writes, anywhere on the server."""
    waiting, since, pid, database, application, started_at = row
    holder = {"pid": pid, "database": database, "application": application, "since": started_at}
    return {"waiting": waiting, "since": since, "held_by": holder if waiting and database is not None else None}


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
    texts(owner=owner, tag=tag, error_class=error_class)
    moment("created_after", created_after)
    return list_jobs(
        statuses=statuses, types=_several(type), lanes=_several(lane), owner=owner, tag=tag, error_class=error_class,
        created_after=created_after, before=None if before is None else place(before, "before"), limit=page(limit, MOST_LISTED),
    )  # fmt: skip


def _several(value: str | Sequence[str] | None) -> list[str] | None:
    return [value] if isinstance(value, str) else None if value is None else list(value)
