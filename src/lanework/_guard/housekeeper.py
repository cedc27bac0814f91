"""The leader's housekeeping: maintenance tasks that are due, one run of each in the cluster."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lanework import _ticks
from lanework._services.service import Service
from lanework._store.keeper import AsyncKeeper
from lanework._store.maintenance import DueTask, begin_task, bloated_indexes, due_tasks, end_task, run_task, statement
from lanework._store.verb import is_outage

if TYPE_CHECKING:
    from lanework._guard.guard import Guard

logger = logging.getLogger("lanework")

#: The server has ended a statement.
TIMED_OUT = "57014"
#: A piece that did this much of one thing may have left some.
FULL = 2000
BREATH = 0.05


class Housekeeper(Service):
    """Tasks in SQL run here, on a connection of their own that is open only meanwhile; those in Python become jobs."""

    name = "housekeeping"

    def __init__(self, guard: Guard, keeper: AsyncKeeper, dsn: str) -> None:
        super().__init__()
        self._guard, self._keeper, self._dsn = guard, keeper, dsn

    async def run_once(self) -> float:
        if not self._guard.leads:
            return self._guard.settings.sweep
        for task in await self._keeper.run(due_tasks()):
            fence = await self._keeper.run(begin_task(task.name, self._guard.worker_id, _next(task)))
            if fence is not None and task.kind == "sql":
                await self._run(task, fence)
        return self._guard.settings.upkeep

    async def _run(self, task: DueTask, fence: int) -> None:
        limited = replace(self._guard.settings, statement_timeout=max(task.timeout_s, 1.0))
        keeper = AsyncKeeper(self._dsn, limited, f"{self._guard.worker_id}-housekeeping", 1)
        counts: Counter[str] = Counter()
        try:
            outcome, error = await self._work(task, keeper, counts)
        except Exception as problem:
            if is_outage(problem):
                raise
            late = getattr(problem, "sqlstate", None) == TIMED_OUT
            outcome, error = ("timeout" if late else "failed"), f"{type(problem).__name__}: {problem}"
        finally:
            await keeper.close()
        if outcome in ("failed", "timeout"):
            logger.error("maintenance task %s: %s: %s", task.name, outcome, error)
        await self._keeper.run(end_task(task.name, fence, outcome, error, counts))

    async def _work(self, task: DueTask, keeper: AsyncKeeper, counts: Counter[str]) -> tuple[str, str]:
        if task.name == "indexes":
            return await _rebuild(keeper, counts)
        until = time.monotonic() + task.timeout_s
        while time.monotonic() < until:
            done = await keeper.run(run_task(task.name))
            counts.update(done)
            if max(done.values(), default=0) < FULL:
                break
            await asyncio.sleep(BREATH)
        return "ok", ""


async def _rebuild(keeper: AsyncKeeper, counts: Counter[str]) -> tuple[str, str]:
    """Index by index. A pooler that hands out connections per transaction would tear a concurrent rebuild apart."""
    async with keeper.connection() as conn:
        if conn.prepare_threshold is None:
            return "skipped", "behind a connection pooler; give LANEWORK_DIRECT_DSN"
        modern = conn.info.server_version >= 170000
    if modern:
        await keeper.run(statement("set transaction_timeout = 0"))
    for name, size, command in await keeper.run(bloated_indexes()):
        logger.info("index %s has %d bytes: %s", name, size, command)
        await keeper.run(statement(command))
        counts["rebuilt"] += 1
    return "ok", ""


def _next(task: DueTask) -> datetime:
    it: Any = _ticks.rhythm(cron=task.cron, every_s=task.every_s, tz=task.tz, anchor=task.now)
    return next(it.after(task.now.astimezone(UTC)), datetime(9999, 1, 1, tzinfo=UTC))
