"""`Lanework`, the application: declare jobs, submit them, read them, manage lanes, work."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lanework._acts import Acts
from lanework._application.decides import Decides
from lanework._application.declarations import Declarations
from lanework._application.limits import Limits
from lanework._application.submits import Submits
from lanework._application.watches import Watches
from lanework._hinting import Hinter
from lanework._hub import Hub
from lanework._limits.pool import PermitPool
from lanework._limits.slices import Share
from lanework._plans import Plans
from lanework._pools.base import Executor
from lanework.approvals import Approvals
from lanework.budgets import Budgets
from lanework.config import Settings
from lanework.dead import Dead
from lanework.freezes import Freezes
from lanework.hooks import Hooks
from lanework.lanes import Lanes
from lanework.maintenance import Maintenance
from lanework.operations import Operations
from lanework.permits import Permits
from lanework.rates import Rates
from lanework.retries import Classifier
from lanework.schedules import Schedules
from lanework.secrets import Secrets

if TYPE_CHECKING:
    from lanework.worker import Worker


class Lanework(Acts, Watches, Decides, Submits, Limits, Declarations):
    """One per application. With no `dsn` (and no LANEWORK_DSN) it starts, or shares, an embedded PostgreSQL.

    Nothing is connected before the first call that needs it. Sync and async calls are twins: `get` and `aget`.
    """

    def __init__(self, dsn: str | None = None, **settings: Any) -> None:
        super().__init__(Settings.load(dsn=dsn, **settings))
        self.hooks = Hooks()
        self.classifiers: list[Classifier] = []
        self.secrets = Secrets()
        self.executors: dict[str, Callable[[str], Executor]] = {}
        self.lanes = Lanes(self)
        self.approvals = Approvals(self)
        self.dead = Dead(self)
        self.schedules = Schedules(self)
        self.maintenance = Maintenance(self)
        self.operations = Operations(self)
        self.freezes = Freezes(self)
        self.permits = Permits(self)
        self.rates = Rates(self)
        self.budgets = Budgets(self)
        self._plans = Plans(self)
        self._hinter = Hinter(self)
        self._hub = Hub(self)
        self._workers: list[Worker] = []
        self._pool: PermitPool | None = None
        self._shares: dict[str, Share] = {}

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
        keeper, prepared = self._forget()
        if keeper is not None:
            keeper.close()
        if prepared is not None:
            prepared.release()

    async def aclose(self) -> None:
        await self._close_loop()
        await asyncio.to_thread(self.close)

    def worker(self, *, lanes: Sequence[str] | None = None, name: str | None = None, **settings: Any) -> Worker:
        """`async with app.worker():` works jobs in this process for as long as the block lasts."""
        from lanework.worker import Worker  # noqa: PLC0415 - who only submits does not load the machinery of working

        return Worker(self, lanes=lanes, name=name, **settings)

    def __repr__(self) -> str:
        return f"<Lanework {len(self.handlers)} jobs, {(self.settings.dsn and 'PostgreSQL') or 'embedded PostgreSQL'}>"
