"""Limits in front of what the whole cluster shares: permits and rates."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lanework._application.database import Database
from lanework._limits.asked import Asked, Scope
from lanework._limits.pool import PermitPool
from lanework._limits.slices import Share
from lanework._limits.source import AppSource
from lanework.context import inside
from lanework.permits import Permit
from lanework.rates import Rate

if TYPE_CHECKING:
    from lanework.worker import Worker


class Limits(Database):
    _pool: PermitPool | None
    _shares: dict[str, Share]
    _workers: list[Worker]

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
        return Permit(AppSource(self._app), Asked.checked(names, capacity, scope, ttl), wait)

    def permits_together(self, names: Sequence[str], **options: Any) -> Permit:
        """`app.permit` for a list of names."""
        return self.permit(*names, **options)

    def rate(self, name: str, *, requests: float | None = None, tokens: float | None = None, per: float = 60.0) -> Rate:
        """Requests and tokens that any `per` seconds may have; first values, later the row decides (`app.rates.set`)."""
        return Rate(self._app, name, requests, tokens, per)

    def _permit_pool(self) -> PermitPool:
        """The pool of a worker in this process, else one with a row of its own."""
        for worker in self._workers:
            return worker.permits
        if self._pool is None or self._pool.pid != os.getpid():
            self._pool = PermitPool(lambda: self._ready().dsn, self.settings)
        return self._pool

    def _share(self, name: str) -> Share:
        return self._shares.setdefault(name, Share())
