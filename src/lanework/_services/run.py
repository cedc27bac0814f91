"""One run of one job: decode, run the body where it belongs, and say how it ended. The story of an attempt, top to bottom."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from lanework._capture import Sink, current
from lanework._codec import clean_text, decode, encode
from lanework._limits.holds import Grant
from lanework._pools.base import Call, Executor, Quarantined
from lanework._services import desk
from lanework._store.claims import Claimed, Held
from lanework._store.inside import freed
from lanework._store.keeper import AsyncKeeper, Keeper
from lanework._store.rates import pause_rate
from lanework.context import Context, inside
from lanework.errors import ChildrenFailed, ClaimLost, InvalidResult
from lanework.outcomes import Cancel, Done, Fail, Finished, Partial, Snooze, Wait
from lanework.retries import HANDLER_FAILED, STALLED, TIMED_OUT, WORKER_LOST, Verdict, backoff, describe, judge

if TYPE_CHECKING:
    from lanework._services.lane import Lane
    from lanework.handlers import Handler

logger = logging.getLogger("lanework")

RESULT_LIMIT = 1_048_576
#: An async body has this long to end after it was asked; then it is fenced, reported, and its slot quarantined. With the way of
#: the request to it, and of its end to the database, that is within 2 s.
ASYNC_BOUND = 1.5


class Run:
    """`settled` is set by the first that says how the run ended; whatever comes later is not written."""

    __slots__ = (
        "_entered", "_stop", "_timer", "began_at", "context", "ended_at", "executor", "handler", "held", "lane", "no", "permits",
        "row", "settled", "spoke", "steps", "task",
    )  # fmt: skip

    def __init__(
        self, lane: Lane, row: Claimed, held: Held, *, no: int, handler: Handler, executor: Executor | None
    ) -> None:  # fmt: skip
        self.lane, self.no, self.row, self.handler, self.held, self.executor = lane, no, row, handler, held, executor
        self.settled = False
        self.spoke = False
        self.began_at = time.monotonic()
        self.ended_at: float | None = None
        self.permits: dict[str, Grant] | None = None
        self.steps: frozenset[str] | None = None
        self.task: asyncio.Task[None] | None = None
        self.context = Context(
            self, job_id=row.id, attempt=row.attempt, fence=row.fence, type=handler.name, lane=lane.name,
            tries_used=row.tries_used, owner=row.owner, claim=held.claim, worker_id=lane.host.worker_id, past=row.past,
            declared=tuple(lane.host.permit_name(name) for name in handler.permits) if handler.permits else (),
        )  # fmt: skip
        self._stop: tuple[str, str] | None = None
        self._entered = False
        self._timer: asyncio.TimerHandle | None = None

    # -- the story -----------------------------------------------------------------------------------------------------

    async def main(self, payload: str, checkpoint: str | None = None, failed_children: str | None = None) -> None:
        self._entered = True
        sink = Sink(self)
        current.set(sink)
        inside.set(self.context)
        try:
            if self._stop is not None:
                raise asyncio.CancelledError
            arguments = self._opened(payload, checkpoint, failed_children)
            if self.executor is None:
                value = await self.handler.fn(self.context, **self.handler.load(arguments, self.row.version))
            else:
                value = await self.executor.run(self._call(arguments))
            sink.flush()
            if value is None and not (self.spoke or self.settled):  # the shortest way, for the most jobs
                self.settled = True
                self.lane.completed(self, None)
            else:
                await self._ended(value)
        except Quarantined as stuck:
            # while a block of the body holds its row, no verdict can be stored: it would stop the lane until the block ends
            if not self._given_back_later and not self.context._blocks:
                self._settle(self._verdict_of_stop())
            await asyncio.wait([stuck.ended])
            self._settle(self._verdict_of_stop())
        except asyncio.CancelledError as error:
            self._settle(self._verdict_of_stop() if self._stop else self._judge(error))
        except BaseException as error:
            sink.flush()
            await self._ended_badly(error)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if self.permits:
                self._give_permits_back()
            self.lane.body_ended(self)

    def _opened(self, payload: str, checkpoint: str | None, failed_children: str | None) -> dict[str, Any]:
        if checkpoint is not None:
            self.context._saved = decode(checkpoint)
        if failed_children is not None:
            raise ChildrenFailed(failed_children)
        if not self.boots:
            self.begins()
        arguments: dict[str, Any] = decode(payload)
        return arguments

    def begins(self) -> None:
        """The body begins now: its timeout counts from here. (The start of a cold child, its imports and hooks, do not count.)"""
        self.began_at = time.monotonic()
        if self.handler.timeout is not None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self.handler.timeout, self.stop, "timeout", "")

    @property
    def duration(self) -> float:
        """How long its body has run, so far or in all."""
        return (self.ended_at or time.monotonic()) - self.began_at

    @property
    def boots(self) -> bool:
        return self.executor is not None and self.lane.host.boots(self.executor)

    def _call(self, arguments: dict[str, Any]) -> Call:
        row = self.row
        return Call(self.handler, self.context, arguments, row.version, row.id, row.attempt, self.held.claim, row.fence)

    async def _ended(self, value: Any) -> None:
        await self._write_down()
        match value:
            case Done(result):
                await self._complete(result, self.context._item_errors)
            case Partial(result, errors):
                await self._complete(result, [*self.context._item_errors, *errors])
            case Finished():
                self.finish_is_stored()
            case Wait(_, on_failure, tolerate):
                self._settle(Verdict("wait", on_failure=on_failure, tolerate=tolerate))
            case Snooze(delay):
                seconds = delay.total_seconds() if isinstance(delay, timedelta) else float(delay)
                self._settle(Verdict("snooze", delay_s=max(seconds, 0.0)))
            case Cancel(reason):
                self._settle(Verdict("cancel", reason=reason))
            case Fail(error, error_class):
                if isinstance(error, BaseException):
                    self._settle(Verdict("fail", error_class=error_class, **describe(error)))
                else:
                    text = clean_text(str(error), 4000)
                    self._settle(Verdict("fail", error_class=error_class, error=text, error_code=HANDLER_FAILED))
            case _:
                await self._complete(value, self.context._item_errors)

    async def _complete(self, result: Any, errors: Sequence[Any] = ()) -> None:
        try:
            text = None if result is None else encode(result, field="result", limit=RESULT_LIMIT, error=InvalidResult)
        except InvalidResult as error:
            self._settle(Verdict("fail", error_class="permanent", **describe(error)))
            return
        await self._write_down()
        if errors:
            mask = self.lane.host.app.secrets.mask
            told = tuple(
                {name: mask(value) if isinstance(value, str) else value for name, value in one.items()}
                for one in (error if isinstance(error, dict) else asdict(error) for error in errors)
            )
            self._settle(Verdict("complete", result=None if text is None else decode(text), errors=told))
        elif not self.settled:
            self.settled = True
            self.lane.completed(self, text)

    def finish_is_stored(self) -> None:
        """`tx.finish` has completed the job in a commit of its own. Its parent, and who follows in its session, may have looked
        between the finish and the commit."""
        if not self.settled:
            self.lane.aside(freed([self.row.id]))
            self.lane.host.told()
            if self.lane.hooks is not None:
                self.lane.hooks.job("completed", self, outcome="completed")
        self._settle(None)

    async def _ended_badly(self, error: BaseException) -> None:
        if isinstance(error, ClaimLost) or self.context._lost:
            self.lost()
            return
        if self._stop is not None and not isinstance(error, Exception):
            self._settle(self._verdict_of_stop())
            return
        await self._write_down()
        if self._stop and self._stop[0] != "cancel":
            self._settle(self._verdict_of_stop())
        else:
            self._settle(await self._throttled(self._judge(error)))

    async def _write_down(self) -> None:
        """What it said, while its fence still holds. A database that is away takes no end with it: how it ended waits until it is
        back, and what it said is tried again beside it."""
        if self.spoke:
            try:
                await self.lane.recorder.drain(self.held)
            except Exception as error:
                logger.warning("job %d: what it said last cannot be written: %s", self.row.id, error)

    async def _throttled(self, verdict: Verdict) -> Verdict:
        """A provider that says "not so fast" says it to the whole cluster: its rate is paused, and the job waits for that."""
        rate = self.handler.rate
        if rate is None or verdict.error_class != "throttled" or verdict.action != "snooze":
            return verdict
        try:
            await self.lane.keeper.run(pause_rate(rate, verdict.delay_s, None))
        except Exception as error:
            logger.warning("rate %s could not be paused: %s", rate, error)
            return verdict
        asyncio.get_running_loop().call_later(verdict.delay_s + 0.01, self.lane.hurry)
        return replace(verdict, action="park", on=f"rate:{rate}")

    def _give_permits_back(self) -> None:
        for grant in (self.permits or {}).values():
            self.lane.host.permits.release(grant)
        self.permits = None

    def _judge(self, error: BaseException) -> Verdict:
        return judge(error, tries_used=self.row.tries_used, base=self.handler.backoff_base, classifiers=self.lane.classifiers)

    # -- being stopped -------------------------------------------------------------------------------------------------

    def stop(self, kind: str, reason: str) -> None:
        """Ends the body: `cancel`, `timeout`, `stalled`, `expired` (max_age), `release` (give back), `lost` (write nothing)."""
        if self._stop is not None or self.task is None or self.task.done():
            return
        self._stop = (kind, reason)
        self.context._stop(reason or kind, lost=kind == "lost")
        if not self._entered:  # cancelled now, it would end without a word, and its claim and its slot would never be given back
            return
        self.task.cancel()
        if self.executor is None:
            asyncio.get_running_loop().call_later(ASYNC_BOUND, self._give_up)

    def fence(self) -> None:
        """Its worker's beats do not get through: others may soon take it."""
        if self.handler.on_disconnect != "hold":
            self.stop("release", "its worker lost the database")

    def _give_up(self) -> None:
        if self.task is not None and not self.task.done():
            self.task.cancel()  # once more: the first one may have met an answer and been swallowed
            logger.warning(
                "job %s (%s) did not end when asked; its slot is quarantined until it does", self.row.id, self.handler.name
            )
            if not self._given_back_later and not self.context._blocks:
                self._settle(self._verdict_of_stop())

    @property
    def _given_back_later(self) -> bool:
        """A job is given back when its body has ended; or by the guard, when the process has. Never two bodies of one job."""
        return self._stop is not None and self._stop[0] == "release"

    def _verdict_of_stop(self) -> Verdict | None:
        kind, reason = self._stop or ("release", "")
        again = backoff(self.row.tries_used, self.handler.backoff_base)
        match kind:
            case "cancel":
                return Verdict("cancel", reason=reason)
            case "timeout":
                text = f"ran longer than its timeout of {self.handler.timeout} s"
                return Verdict("retry", delay_s=again, uses_try=True, error_class="timeout", error_code=TIMED_OUT, error=text)
            case "stalled":
                return Verdict("retry", delay_s=again, uses_try=True, error_class="stalled", error_code=STALLED, error=reason)
            case "expired":
                return Verdict("fail", error_class="timeout", error_code=TIMED_OUT, error=reason)
            case "lost":
                return None
        return Verdict(
            "release", error_class="worker_lost", error_code=WORKER_LOST, error=reason or "given back by its worker", cause=reason
        )

    def lost(self) -> None:
        """The claim is somebody else's now: nothing is written any more."""
        self.context._lost = True
        self._settle(None)

    def _settle(self, verdict: Verdict | None) -> None:
        if self.settled:
            return
        self.settled = True
        self.lane.ended(self, verdict)

    # -- the link of its context ---------------------------------------------------------------------------------------

    def tell(self, op: str, data: dict[str, Any]) -> None:
        self.lane.on_loop(self._take, op, data)

    def _take(self, op: str, data: dict[str, Any]) -> None:
        if self.settled:
            return
        self.spoke = True
        if op == "finished":
            self.finish_is_stored()
        elif op == "item_errors":
            self.context._item_errors.extend(data["errors"])
        elif op == "progress":
            self.lane.recorder.progress(self.held, data["fraction"], data["message"], data["data"])
        elif op == "log":
            self.lane.recorder.log(self.held, data["stream"], data["text"])

    def ask(self, op: str, data: dict[str, Any]) -> Any:
        return self.lane.wait_on_loop(self.aask(op, data))

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        return await desk.answer(self, op, data)

    def database(self) -> Keeper:
        return self.lane.host.app._sync_keeper()

    async def adatabase(self) -> AsyncKeeper:
        return await self.lane.host.app._async_keeper()
