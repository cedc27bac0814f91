"""Starts what a claim has brought: at once what came with its payload, the rest as it is fetched."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lanework._services.run import Run
from lanework._store.claims import Claimed, Held, payloads
from lanework.retries import WORKER_LOST, Verdict

if TYPE_CHECKING:
    from lanework._services.lane import Lane

logger = logging.getLogger("lanework")

FETCH_BYTES = 4_000_000
#: Jobs started in one turn of the event loop: between turns the answers of the database, and other lanes, are served.
TURN = 25


class Starts:
    def __init__(self, lane: Lane) -> None:
        self._lane = lane

    def begin(self, rows: list[Claimed], claim: str, no: int) -> None:
        if len(rows) <= TURN:  # few: without a turn of the loop before they start
            rows = self._ready(rows, claim, no)
        if rows:
            self._lane.spawn(self._all(rows, claim, no))

    def _ready(self, rows: list[Claimed], claim: str, no: int) -> list[Claimed]:
        """Starts what came with its payload; answers the others."""
        for row in rows:
            if row.payload is not None:
                self._one(row, claim, no, row.payload)
        return [row for row in rows if row.payload is None]

    async def _all(self, rows: list[Claimed], claim: str, no: int) -> None:
        """Starts what came with its payload; fetches the others, a few megabytes at a time."""
        waiting: list[Claimed] = []
        for begin in range(0, len(rows), TURN):
            waiting += self._ready(rows[begin : begin + TURN], claim, no)
            await asyncio.sleep(0)
        rows = waiting
        while rows:
            size, count = 0, 0
            while count < len(rows) and (count == 0 or size + rows[count].bytes <= FETCH_BYTES):
                size, count = size + rows[count].bytes, count + 1
            part, rows = rows[:count], rows[count:]
            try:
                found = await self._lane.keeper.run(payloads(claim, [row.id for row in part]))
            except Exception as error:
                logger.warning(
                    "lane %s: %d claimed jobs could not be read (%s); they are given back", self._lane.name, count, error
                )
                self._give_back([*part, *rows], claim, no)
                return
            texts = {id: rest for id, *rest in found}
            for row in part:
                self._one(row, claim, no, *texts.get(row.id, (None,)))

    def _one(self, row: Claimed, claim: str, no: int, payload: str | None, *past: str | None) -> None:
        """`past`: its checkpoint, and what is wrong with its children."""
        lane = self._lane
        handler = lane.host.handler(row.type_id)
        executor = lane.host.executor(lane, handler, row.suspect)
        run = Run(lane, row, Held(row.id, row.attempt, claim), no=no, handler=handler, executor=executor)
        if payload is None:  # superseded between the claim and here
            lane.release(row.type_id)
            lane.limits.gone(run)
            lane.settled_some(no)
            return
        lane.runs[row.id] = run
        run.task = lane.loop.create_task(run.main(payload, *past))
        if lane.host.fenced:  # since its claim was sent
            run.fence()
        if lane.hooks is not None:
            lane.hooks.job("started", run, outcome="running")

    def _give_back(self, rows: list[Claimed], claim: str, no: int) -> None:
        """Others of the same claim run already, so it stays open: these are given back one by one."""
        lane = self._lane
        for row in rows:
            handler = lane.host.handler(row.type_id)
            run = Run(lane, row, Held(row.id, row.attempt, claim), no=no, handler=handler, executor=None)
            run.settled = True
            back = Verdict("release", error_class="worker_lost", error_code=WORKER_LOST, cause="its payload could not be read")
            lane.verdicts.add(run, back)
            lane.release(row.type_id)
            lane.limits.body_ended(run)
        lane.wake()
