"""Submitting, one job or many, in a connection of ours or in the caller's transaction; and waiting for the end of one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from lanework._application.database import answered
from lanework._application.reads import Reads
from lanework._handle import Handle
from lanework._hinting import Hinter, target
from lanework._inputs import known_id
from lanework._options import OptionValues
from lanework._store import callers, submits
from lanework._store.copying import Bulk
from lanework._store.hints import careful_hint
from lanework._store.reads import is_finished
from lanework._store.verb import Verb, arun, run
from lanework.context import Context, inside
from lanework.errors import InvalidJob, JobNotFinished, WouldDeadlock
from lanework.handlers import Handler, Payloads
from lanework.job import JobInfo, Options, Submission


class Submits(Reads):
    _hinter: Hinter

    # -- by name -------------------------------------------------------------------------------------------------------

    def submit_json(self, type: str, arguments: Mapping[str, Any], **options: Unpack[OptionValues]) -> Handle[Any]:
        """Submits a declared job whose arguments are JSON already: from HTTP, a command line, a schedule."""
        handler = self.handlers[type]
        submission = Submission(handler, handler.bind_json(arguments), Options().changed(options))
        return Handle(self._app, self._submit(submission))

    async def asubmit_json(self, type: str, arguments: Mapping[str, Any], **options: Unpack[OptionValues]) -> Handle[Any]:
        handler = self.handlers[type]
        submission = Submission(handler, handler.bind_json(arguments), Options().changed(options))
        return Handle(self._app, await self._asubmit(submission))

    # -- for Job -------------------------------------------------------------------------------------------------------

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

    # -- for Handle ----------------------------------------------------------------------------------------------------

    def _info(self, job_id: int) -> JobInfo:
        return self.get(job_id)

    async def _ainfo(self, job_id: int) -> JobInfo:
        return await self.aget(job_id)

    def _wait(self, job_id: int, timeout: float | None) -> JobInfo:
        if (context := inside.get()) is not None:
            _check_wait(context, self.get(job_id))
        deadline = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses():
            if answered(job_id, self._run(is_finished(known_id(job_id)))):
                return self.get(job_id)
            time.sleep(_next(job_id, pause, deadline, timeout))
        raise AssertionError("unreachable")

    async def _await(self, job_id: int, timeout: float | None) -> JobInfo:
        if (context := inside.get()) is not None:
            _check_wait(context, await self.aget(job_id))
        deadline = None if timeout is None else time.monotonic() + timeout
        for pause in _pauses():
            if answered(job_id, await self._arun(is_finished(known_id(job_id)))):
                return await self.aget(job_id)
            await asyncio.sleep(_next(job_id, pause, deadline, timeout))
        raise AssertionError("unreachable")


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
