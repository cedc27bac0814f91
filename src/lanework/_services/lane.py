"""A lane in one worker: claims as many jobs as there are free slots, runs them, and ends them in batches.

One call to the database is under way at a time, so that the numbers it carries (bodies in the lane, finished runs) are never
older than those of the call before. While it is under way the jobs of the previous answer run.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence, Set
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

import psycopg

from lanework._codec import clean_text
from lanework._failpoints import reach
from lanework._limits.pool import PermitPool
from lanework._pools.base import Executor
from lanework._services.hooking import HookRunner
from lanework._services.limits import Limits
from lanework._services.positions import Positions
from lanework._services.recorder import Recorder
from lanework._services.run import Run
from lanework._services.service import Service
from lanework._store.claims import Claimed, Held, Settled, completed, cycle, payloads, read_back, settle
from lanework._store.hints import hint
from lanework._store.inside import wake_parents
from lanework._store.keeper import AsyncKeeper
from lanework._store.verb import Verb, is_outage
from lanework._store.workers import LaneView
from lanework.errors import ClaimLost, InvalidResult, LaneworkError, WorkerRetired
from lanework.hooks import Kind
from lanework.retries import WORKER_LOST, Classifier, Verdict

if TYPE_CHECKING:
    from lanework.client import Lanework
    from lanework.handlers import Handler

logger = logging.getLogger("lanework")

#: Jobs in one claim. A lane with many slots claims a part of them at a time: the next claim is under way while these run.
BIGGEST_CLAIM = 500
SMALL_LANE = 64
FETCH_BYTES = 4_000_000
#: Up to so many parts of the index a claim gives each of them room for all the jobs that it answers (see `v_each` in `claim`).
SHARES = 16
#: Jobs started in one turn of the event loop: between turns the answers of the database, and other lanes, are served.
TURN = 25


class Host(Protocol):
    """What a lane needs from its worker."""

    worker_id: int
    dsn: str
    app: Lanework
    doubt_s: float
    keeper: AsyncKeeper
    recorder: Recorder
    hooks: HookRunner | None
    permits: PermitPool

    @property
    def classifiers(self) -> Sequence[Classifier]: ...

    def plain_settings(self) -> dict[str, Any]: ...
    def next_call(self) -> int: ...
    def open_claim(self) -> int: ...
    def close_claim(self, no: int) -> None: ...
    def capacity(self, lane: Lane) -> int: ...
    def executor(self, lane: Lane, handler: Handler, suspect: bool) -> Executor | None: ...
    def boots(self, executor: Executor) -> bool: ...
    def handler(self, type_id: int) -> Handler: ...
    def versions(self) -> dict[int, int]: ...
    def due_in(self, seconds: float) -> None: ...
    def retired(self, reason: str, worker_id: int) -> None: ...
    def told(self) -> None: ...
    def permit_name(self, declared: str) -> str: ...


class Lane(Service):
    def __init__(self, host: Host, view: LaneView) -> None:
        self.name = view.name
        super().__init__()
        self.host, self.view = host, view
        self.keeper, self.recorder, self.classifiers, self.hooks = host.keeper, host.recorder, host.classifiers, host.hooks
        self.runs: dict[int, Run] = {}
        self.used = 0
        self.used_by_type: Counter[int] = Counter()
        self.draining = False
        self._done: list[tuple[Run, str | None]] = []
        self._ended: list[tuple[Run, Verdict]] = []
        self._unsettled: Counter[int] = Counter()
        self._positions = Positions()
        self._limits = Limits(host)
        self._hungry = True
        #: An answer with at least so many jobs may leave some behind; one with fewer has taken all there were.
        self._full_from = 0
        self._told = 0
        self._finishing = 0
        self._doubt = (0, 0.0)
        self._calling = False
        self._finisher: asyncio.Task[None] | None = None
        self._loop_ref = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    # -- what others tell it -------------------------------------------------------------------------------------------

    def seen(self, view: LaneView) -> None:
        """The lane's row at this poll."""
        self.view = view
        if view.ready:
            self.hurry()

    def hurry(self) -> None:
        self._hungry = True
        self.wake()

    def rescan(self) -> None:
        """Somebody has put rows before the ones that were claimed last: the next claim looks from the top."""
        self._positions.forget()
        self.hurry()

    def restart(self) -> None:
        """The worker has a new number: what it claimed under the old one is not ours any more."""
        self._done.clear()
        self._ended.clear()
        self._unsettled.clear()
        self._limits.forget()
        self._positions.forget()
        self.hurry()

    @property
    def idle(self) -> bool:
        """Nothing runs, and nothing that ended is on its way to the database."""
        return not (self.used or self._done or self._ended or self._finishing or self._calling)

    @property
    def taken(self) -> int:
        """Slots of this worker: a run has one until its finish is stored, so that the database never sees more than there are."""
        return self.used + len(self._done) + self._finishing + self._doubtful()

    def _doubtful(self) -> int:
        """Jobs of a claim whose answer was lost. The next beat gives them back; until then they may be ours."""
        jobs, until = self._doubt
        return jobs if time.monotonic() < until else 0

    # -- one round -----------------------------------------------------------------------------------------------------

    async def run_once(self) -> float:
        self._calling = True
        try:
            return await self._turn()
        finally:
            self._calling = False

    async def _turn(self) -> float:
        if self._ended:
            await self._settle()
        capacity = self.host.capacity(self)
        beside = self._beside(capacity)
        if beside and self._done and self._finisher is None:
            self._finisher = self._spawn(self._finish_beside())
        want = self._want(capacity, beside)
        if (beside or not self._done) and not (want and self._hungry):
            if self._told == self.taken or self._done or self._finishing:
                return 3600.0
            want = 0  # slots that were freed since the last call
        return await self._round(want, [] if beside else self._take_done())

    def _beside(self, capacity: int) -> bool:
        """A lane that has much to do finishes some runs while it claims others. One that has little does both in one call."""
        return capacity > SMALL_LANE and (self._finisher is not None or self.used + len(self._done) > SMALL_LANE)

    def _want(self, capacity: int, beside: bool) -> int:
        if self.draining or not self.view.enabled or not self.view.types:
            return 0
        if beside:
            return max(min(capacity - self.taken, BIGGEST_CLAIM, capacity // 3), 0)
        return max(min(capacity - self.used - self._doubtful(), BIGGEST_CLAIM), 0)

    def _take_done(self) -> list[tuple[Run, str | None]]:
        done, self._done = self._done[: 2 * BIGGEST_CLAIM], self._done[2 * BIGGEST_CLAIM :]
        return done

    async def _round(self, want: int, done: list[tuple[Run, str | None]]) -> float:
        """Sends what is done, asks for what is free, and starts what comes back."""
        claim = str(uuid4())
        no = self.host.open_claim() if want else 0
        # with one slot the order is a promise: what a retry or a late commit put behind a position must come first
        from_top = self.view.max_slots == 1 or self._positions.due()
        started, self._hungry = time.monotonic(), False
        self._told, worker, forgotten = self.taken, self.host.worker_id, self._positions.times_forgotten
        try:
            verb = self._verb(claim, no, want, done, from_top)
            await reach("before_claim")
            answer = await self.keeper.run(verb)
            if answer.claimed:
                await reach("after_claim_commit")
            if done:
                await reach("after_finish_commit")
        except BaseException as error:
            if no:
                self.host.close_claim(no)
                if is_outage(error):
                    self._doubt = (want, time.monotonic() + self.host.doubt_s)
            self._hungry = True
            return await self._failed(error, done, worker)
        lost = set() if answer.all_taken else await self._read_back(done)
        self._taken(done, lost)
        if from_top:
            self._positions.rescanned(started, forgotten)
        if answer.claimed:
            self._positions.advance(answer.claimed, forgotten)
        pause = self._claimed(answer.claimed, claim, no, want, from_top)
        if 0 < len(answer.claimed) <= TURN:
            await asyncio.sleep(0)  # their bodies begin before the next call is prepared
        return pause

    def _verb(self, claim: str, no: int, want: int, done: list[tuple[Run, str | None]], from_top: bool) -> Any:
        versions = self.host.versions()
        types = [type_id for type_id in self.view.types if type_id in versions]
        limits = self._limits.told(types, [run for run, _ in done])
        if limits is not None and self._doubtful():  # what a lost claim has taken is not known: nothing of the kind until it is
            types, limits = [type_id for type_id in types if not self._limits.has(type_id)], None
        capped = [type_id for type_id, most in zip(self.view.types, self.view.concurrencies, strict=True) if most is not None]
        ranges = self._positions.ranges(types, versions, from_top=from_top)
        self._full_from = 0 if limits is not None else want if len(ranges.types) <= SHARES else 2
        return cycle(
            worker=self.host.worker_id, lane=self.view.id, call=self.host.next_call(), no=no, claim=claim,
            want=want if types else 0, used=self.taken,
            capped=capped, capped_used=[self.used_by_type[type_id] for type_id in capped],
            ranges=ranges, done=[(*run.held, result) for run, result in done], limits=limits,
        )  # fmt: skip

    def _claimed(self, rows: list[Claimed], claim: str, no: int, want: int, from_top: bool) -> float:
        if rows:
            self._begin(rows, claim, no)
        elif no:
            self.host.close_claim(no)
        if rows and len(rows) >= self._full_from:
            self._hungry = True
            return 0.0
        # Nothing more is there. A hint or a poll tells of what comes; and a slot that is freed looks again, should slots be short.
        if want and not from_top and self.view.enabled:  # there may be rows behind the positions
            self._hungry = True
            return max(self._positions.next_rescan - time.monotonic(), 0.001)
        return 0.0 if self._done else 3600.0

    def _begin(self, rows: list[Claimed], claim: str, no: int) -> None:
        self._told += len(rows)  # the claim has counted them
        self._unsettled[no] = len(rows)
        self.host.told()
        self.used += len(rows)
        self.used_by_type.update([row.type_id for row in rows])
        self._limits.claimed(rows)
        if len(rows) <= TURN:  # few: without a turn of the loop before they start
            rows = self._start_ready(rows, claim, no)
        if rows:
            self._spawn(self._start_all(rows, claim, no))

    # -- starting ------------------------------------------------------------------------------------------------------

    def _start_ready(self, rows: list[Claimed], claim: str, no: int) -> list[Claimed]:
        """Starts what came with its payload; answers the others."""
        for row in rows:
            if row.payload is not None:
                self._start(row, claim, no, row.payload)
        return [row for row in rows if row.payload is None]

    async def _start_all(self, rows: list[Claimed], claim: str, no: int) -> None:
        """Starts what came with its payload; fetches the others, a few megabytes at a time."""
        waiting: list[Claimed] = []
        for begin in range(0, len(rows), TURN):
            waiting += self._start_ready(rows[begin : begin + TURN], claim, no)
            await asyncio.sleep(0)
        rows = waiting
        while rows:
            size, count = 0, 0
            while count < len(rows) and (count == 0 or size + rows[count].bytes <= FETCH_BYTES):
                size, count = size + rows[count].bytes, count + 1
            part, rows = rows[:count], rows[count:]
            try:
                found = await self.keeper.run(payloads(claim, [row.id for row in part]))
            except Exception as error:
                logger.warning("lane %s: %d claimed jobs could not be read (%s); they are given back", self.name, count, error)
                self._give_back([*part, *rows], claim, no)
                return
            texts = {id: rest for id, *rest in found}
            for row in part:
                self._start(row, claim, no, *texts.get(row.id, (None,)))

    def _start(self, row: Claimed, claim: str, no: int, payload: str | None, *past: str | None) -> None:
        """`past`: its checkpoint, and what is wrong with its children."""
        handler = self.host.handler(row.type_id)
        executor = self.host.executor(self, handler, row.suspect)
        run = Run(self, row, Held(row.id, row.attempt, claim), no=no, handler=handler, executor=executor)
        if payload is None:  # superseded between the claim and here
            self._release(row.type_id)
            self._limits.gone(run)
            self._settled_some(no)
            return
        self.runs[row.id] = run
        run.task = self._loop_ref.create_task(run.main(payload, *past))
        if self.hooks is not None:
            self.hooks.job("started", run, outcome="running")

    def _give_back(self, rows: list[Claimed], claim: str, no: int) -> None:
        """Others of the same claim run already, so it stays open: these are given back one by one."""
        for row in rows:
            run = Run(self, row, Held(row.id, row.attempt, claim), no=no, handler=self.host.handler(row.type_id), executor=None)
            run.settled = True
            self._ended.append(
                (run, Verdict("release", error_class="worker_lost", error_code=WORKER_LOST, cause="its payload could not be read"))
            )
            self._release(row.type_id)
            self._limits.body_ended(run)
        self.wake()

    # -- ending --------------------------------------------------------------------------------------------------------

    def completed(self, run: Run, result: str | None) -> None:
        """Its body has ended, or ends now; `body_ended` follows."""
        self._done.append((run, result))

    def ended(self, run: Run, verdict: Verdict | None) -> None:
        if verdict is None:
            self._settled_some(run.no)
            self._limits.stored(run)
        else:
            self._ended.append((run, verdict.masked(self.host.app.secrets.mask)))
        self.wake()

    def body_ended(self, run: Run) -> None:
        """The slot is free only now, however long ago the run was settled."""
        run.ended_at = time.monotonic()
        if self.runs.get(run.row.id) is run:
            del self.runs[run.row.id]
        self._limits.body_ended(run)
        self._release(run.row.type_id)
        self.wake()

    def _release(self, type_id: int) -> None:
        self.used -= 1
        self.used_by_type[type_id] -= 1
        self._hungry = True

    def _taken(self, done: list[tuple[Run, str | None]], lost: Set[int] = frozenset()) -> None:
        for run, _ in done:
            self._limits.stored(run)
        for no, count in Counter([run.no for run, _ in done]).items():
            self._settled_some(no, count)
        if done:
            self.host.told()
        if self.hooks is not None:
            for run, _ in done:
                if run.row.id not in lost:
                    self.hooks.job("completed", run, outcome="completed")

    def _settled_some(self, no: int, count: int = 1) -> None:
        left = self._unsettled[no] - count
        if left > 0:
            self._unsettled[no] = left
        else:
            self._unsettled.pop(no, None)
            self.host.close_claim(no)

    async def _settle(self) -> None:
        batch, self._ended = self._ended[:BIGGEST_CLAIM], self._ended[BIGGEST_CLAIM:]
        batch.sort(key=lambda item: item[0].held.id)
        try:
            await reach("before_settle")
            answers = await self._settle_or_split(batch)
        except BaseException:
            self._ended = batch + self._ended
            raise
        self._told = -1
        known = {answer.id for answer in answers}
        missing = [run for run, _ in batch if run.held.id not in known]
        if missing:
            self._tell_lost(missing, await self.keeper.run(read_back(self.host.worker_id, [run.held for run in missing])))
        for run, _ in batch:
            self._settled_some(run.no)
            self._limits.stored(run)
        self.host.told()
        if self.hooks is not None:
            _tell_hooks(self.hooks, batch, answers)
        await self._announce(answers)

    async def _settle_or_split(self, batch: list[tuple[Run, Verdict]]) -> list[Settled]:
        """A verdict that the database refuses must not keep the others from being stored."""
        try:
            return await self.keeper.run(settle(self.host.worker_id, [(run.held, verdict) for run, verdict in batch]))
        except psycopg.Error as error:
            if is_outage(error):
                raise
            logger.error("lane %s: an outcome was refused (%s); looking for the one at fault", self.name, error)
            if len(batch) == 1:
                text = clean_text(f"its outcome cannot be stored: {error}", 4000)
                refused = Verdict("fail", error_class="permanent", error=text, error_code=InvalidResult.code)
                return await self.keeper.run(settle(self.host.worker_id, [(batch[0][0].held, refused)]))
            half = len(batch) // 2
            return [*await self._settle_or_split(batch[:half]), *await self._settle_or_split(batch[half:])]

    async def _announce(self, answers: list[Settled]) -> None:
        if any(answer.next == "approved" for answer in answers):
            self.hurry()
            await self.keeper.run(hint(self.name))
        parked = [answer.id for answer in answers if answer.next == "blocked"]
        if parked:
            self._spawn(self._look_again(parked))
        due = [answer.due_in for answer in answers if answer.due_in is not None]
        if due:
            self.host.due_in(max(min(due), 0.0))

    async def _look_again(self, parked: list[int]) -> None:
        """A child may have ended while its parent was being parked: its transaction saw a parent that runs, and may be open yet."""
        for pause in (0.0, 0.1, 1.0):
            await asyncio.sleep(pause)
            await self._try(wake_parents(parked))

    def aside(self, verb: Verb[None]) -> None:
        """Something that the next sweep would do, now."""
        self._spawn(self._try(verb))

    async def _try(self, verb: Verb[None]) -> None:
        with contextlib.suppress(Exception):  # the sweep looks, too
            await self.keeper.run(verb)

    # -- what can go wrong ---------------------------------------------------------------------------------------------

    async def _failed(self, error: BaseException, done: list[tuple[Run, str | None]], worker: int) -> float:
        if isinstance(error, WorkerRetired):
            self._taken(done, {run.row.id for run, _ in done})
            self.host.retired(str(error), worker)
            return 3600.0
        if done and isinstance(error, (psycopg.Error, LaneworkError)) and not is_outage(error):
            await self._complete_alone(done)
            return 0.0
        self._done = done + self._done
        raise error

    async def _complete_alone(self, done: list[tuple[Run, str | None]]) -> None:
        """Finishes without a claim; a batch that is refused is split down to the one at fault, which fails alone."""
        try:
            count = await self.keeper.run(completed(self.host.worker_id, [(*run.held, result) for run, result in done]))
        except psycopg.Error as error:
            if is_outage(error):
                self._done = done + self._done
                raise
            logger.error("lane %s: a finish was refused (%s); looking for the value at fault", self.name, error)
            if len(done) == 1:
                text = clean_text(f"its result cannot be stored: {error}", 4000)
                self._ended.append(
                    (done[0][0], Verdict("fail", error_class="permanent", error=text, error_code=InvalidResult.code))
                )
                return
            await self._complete_alone(done[: len(done) // 2])
            await self._complete_alone(done[len(done) // 2 :])
            return
        except LaneworkError:
            self._done = done + self._done
            raise
        lost = await self._read_back(done) if count < len(done) else set()
        self._taken(done, lost)

    async def _finish_beside(self) -> None:
        """Finishes of a big lane have a call of their own, beside the claims."""
        try:
            while self._done:
                done = self._take_done()
                self._finishing = len(done)
                try:
                    await self._complete_alone(done)
                except Exception as error:
                    self.health.last_error = f"{type(error).__name__}: {error}"
                    await asyncio.sleep(0.2)
                finally:
                    self._finishing = 0
                self._hungry = True
                self.wake()
        finally:
            self._finisher = None

    async def _read_back(self, done: list[tuple[Run, str | None]]) -> set[int]:
        """A finish that changed nothing was either ours already, its answer lost, or its claim is gone. Answers the latter."""
        runs = [run for run, _ in done]
        return self._tell_lost(runs, await self.keeper.run(read_back(self.host.worker_id, [run.held for run in runs])))

    def _tell_lost(self, runs: list[Run], ended: dict[int, bool]) -> set[int]:
        lost = {run.held.id for run in runs if not ended.get(run.held.id, False)}
        for run in runs:
            if run.held.id in lost:
                error = ClaimLost(f"job {run.held.id}: attempt {run.held.attempt} was superseded; its outcome was refused")
                logger.warning("%s (%s)", error, error.code)
        return lost

    # -- threads and tasks ---------------------------------------------------------------------------------------------

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._loop_ref.create_task(work)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        return task

    def on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self._loop_ref.call_soon_threadsafe(function, *arguments)

    def wait_on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        if threading.get_ident() == self._thread:
            work.close()
            raise RuntimeError("this call would block the event loop; use its async twin (a…) in async handlers")
        return asyncio.run_coroutine_threadsafe(work, self._loop_ref).result()


def _tell_hooks(hooks: HookRunner, batch: list[tuple[Run, Verdict]], answers: list[Settled]) -> None:
    """Of what was stored. A job that was given back, or waits for its children, has not been retried."""
    next_of = {answer.id: answer.next for answer in answers}
    for run, verdict in batch:
        outcome = next_of.get(run.held.id)
        if outcome is not None and (kind := _ENDS.get(outcome) or _ACTIONS.get(verdict.action)):
            hooks.job(kind, run, outcome=outcome, error_class=verdict.error_class, error=verdict.error)


_ENDS: dict[str, Kind] = {"completed": "completed", "failed": "failed", "cancelled": "cancelled"}
_ACTIONS: dict[str, Kind] = {"retry": "retried", "snooze": "snoozed"}
_tasks: set[asyncio.Task[None]] = set()
