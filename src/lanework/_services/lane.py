"""A lane in one worker: claims as many jobs as there are free slots, runs them, and ends them in batches.

One call to the database is under way at a time, so that the numbers it carries (bodies in the lane, finished runs) are never
older than those of the call before. While it is under way the jobs of the previous answer run.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Set
from typing import Any
from uuid import uuid4

import psycopg

from lanework._failpoints import reach
from lanework._services.finishes import Done, Finishes
from lanework._services.host import Host
from lanework._services.limits import Limits
from lanework._services.positions import Positions
from lanework._services.run import Run
from lanework._services.service import Service
from lanework._services.starts import TURN, Starts
from lanework._services.verdicts import Verdicts
from lanework._store.claims import Claimed, cycle
from lanework._store.verb import Verb, is_outage
from lanework._store.workers import LaneView
from lanework.errors import LaneworkError, WorkerRetired
from lanework.retries import Verdict

#: Jobs in one claim. A lane with many slots claims a part of them at a time: the next claim is under way while these run.
BIGGEST_CLAIM = 500
SMALL_LANE = 64
#: Up to so many parts of the index a claim gives each of them room for all the jobs that it answers (see `v_each` in `claim`).
SHARES = 16


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
        self.finishes, self.verdicts, self._starts = Finishes(self), Verdicts(self), Starts(self)
        self._unsettled: Counter[int] = Counter()
        self._positions = Positions()
        self.limits = Limits(host)
        self._hungry = True
        #: An answer with at least so many jobs may leave some behind; one with fewer has taken all there were.
        self._full_from = 0
        self._told = 0
        self._doubt = (0, 0.0)
        self._calling = False
        self.loop = asyncio.get_running_loop()
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
        self.finishes.forget()
        self.verdicts.forget()
        self._unsettled.clear()
        self.limits.forget()
        self._positions.forget()
        self.hurry()

    @property
    def idle(self) -> bool:
        """Nothing runs, and nothing that ended is on its way to the database."""
        return not (self.used or self.finishes or self.verdicts or self._calling)

    @property
    def taken(self) -> int:
        """Slots of this worker: a run has one until its finish is stored, so that the database never sees more than there are."""
        return self.used + len(self.finishes) + self._doubtful()

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
        if self.verdicts:
            self._told = -1
            await self.verdicts.store()
        capacity = self.host.capacity(self)
        beside = self._beside(capacity)
        if beside:
            self.finishes.go_beside()
        want = self._want(capacity, beside)
        if (beside or not self.finishes) and not (want and self._hungry):
            if self._told == self.taken or self.finishes:
                return 3600.0
            want = 0  # slots that were freed since the last call
        return await self._round(want, [] if beside else self.finishes.take())

    def _beside(self, capacity: int) -> bool:
        """A lane that has much to do finishes some runs while it claims others. One that has little does both in one call."""
        return capacity > SMALL_LANE and (self.finishes.beside or self.used + len(self.finishes) > SMALL_LANE)

    def _want(self, capacity: int, beside: bool) -> int:
        if self.draining or not self.view.enabled or not self.view.types:
            return 0
        if beside:
            return max(min(capacity - self.taken, BIGGEST_CLAIM, capacity // 3), 0)
        return max(min(capacity - self.used - self._doubtful(), BIGGEST_CLAIM), 0)

    async def _round(self, want: int, done: Done) -> float:
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
        lost = set() if answer.all_taken else await self.finishes.read_back(done)
        self.stored(done, lost)
        if from_top:
            self._positions.rescanned(started, forgotten)
        if answer.claimed:
            self._positions.advance(answer.claimed, forgotten)
        pause = self._claimed(answer.claimed, claim, no, want, from_top)
        if 0 < len(answer.claimed) <= TURN:
            await asyncio.sleep(0)  # their bodies begin before the next call is prepared
        return pause

    def _verb(self, claim: str, no: int, want: int, done: Done, from_top: bool) -> Any:
        versions = self.host.versions()
        types = [type_id for type_id in self.view.types if type_id in versions]
        limits = self.limits.told(types, [run for run, _ in done])
        if limits is not None and self._doubtful():  # what a lost claim has taken is not known: nothing of the kind until it is
            types, limits = [type_id for type_id in types if not self.limits.has(type_id)], None
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
        return 0.0 if self.finishes.waiting else 3600.0

    def _begin(self, rows: list[Claimed], claim: str, no: int) -> None:
        self._told += len(rows)  # the claim has counted them
        self._unsettled[no] = len(rows)
        self.host.told()
        self.used += len(rows)
        self.used_by_type.update([row.type_id for row in rows])
        self.limits.claimed(rows)
        self._starts.begin(rows, claim, no)

    # -- ending --------------------------------------------------------------------------------------------------------

    def completed(self, run: Run, result: str | None) -> None:
        """Its body has ended, or ends now; `body_ended` follows."""
        self.finishes.waiting.append((run, result))

    def ended(self, run: Run, verdict: Verdict | None) -> None:
        if verdict is None:
            self.settled_some(run.no)
            self.limits.stored(run)
        else:
            self.verdicts.add(run, verdict.masked(self.host.app.secrets.mask))
        self.wake()

    def body_ended(self, run: Run) -> None:
        """The slot is free only now, however long ago the run was settled."""
        run.ended_at = time.monotonic()
        if self.runs.get(run.row.id) is run:
            del self.runs[run.row.id]
        self.limits.body_ended(run)
        self.release(run.row.type_id)
        self.wake()

    def release(self, type_id: int) -> None:
        self.used -= 1
        self.used_by_type[type_id] -= 1
        self._hungry = True

    def stored(self, done: Done, lost: Set[int] = frozenset()) -> None:
        for run, _ in done:
            self.limits.stored(run)
        for no, count in Counter([run.no for run, _ in done]).items():
            self.settled_some(no, count)
        if done:
            self.host.told()
        if self.hooks is not None:
            for run, _ in done:
                if run.row.id not in lost:
                    self.hooks.job("completed", run, outcome="completed")

    def settled_some(self, no: int, count: int = 1) -> None:
        left = self._unsettled[no] - count
        if left > 0:
            self._unsettled[no] = left
        else:
            self._unsettled.pop(no, None)
            self.host.close_claim(no)

    def aside(self, verb: Verb[None]) -> None:
        """Something that the next sweep would do, now."""
        self.spawn(self.attempt(verb))

    async def attempt(self, verb: Verb[None]) -> None:
        with contextlib.suppress(Exception):  # the sweep looks, too
            await self.keeper.run(verb)

    # -- what can go wrong ---------------------------------------------------------------------------------------------

    async def _failed(self, error: BaseException, done: Done, worker: int) -> float:
        if isinstance(error, WorkerRetired):
            self.stored(done, {run.row.id for run, _ in done})
            self.host.retired(str(error), worker)
            return 3600.0
        if done and isinstance(error, (psycopg.Error, LaneworkError)) and not is_outage(error):
            await self.finishes.store(done)
            return 0.0
        self.finishes.put_back(done)
        raise error

    # -- threads and tasks ---------------------------------------------------------------------------------------------

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        _tasks.add(task)
        task.add_done_callback(_tasks.discard)
        return task

    def on_loop(self, function: Callable[..., None], *arguments: Any) -> None:
        if threading.get_ident() == self._thread:
            function(*arguments)
        else:
            self.loop.call_soon_threadsafe(function, *arguments)

    def wait_on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        if threading.get_ident() == self._thread:
            work.close()
            raise RuntimeError("this call would block the event loop; use its async twin (a…) in async handlers")
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


_tasks: set[asyncio.Task[None]] = set()
