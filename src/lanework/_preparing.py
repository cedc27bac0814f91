"""Getting a database ready: an embedded server or the given one, safe, with the schema this version needs."""

from __future__ import annotations

import json
import logging
import math
from typing import TYPE_CHECKING, Any

from lanework import embedded, lanes, migrate
from lanework._store.connect import connect
from lanework._store.dead import register_notifiers as register_rows
from lanework._store.reads import register
from lanework._store.verb import run
from lanework.approvals import parts
from lanework.config import Settings
from lanework.errors import SchemaError
from lanework.handlers import ESTIMATES, ESTIMATES_LANE

if TYPE_CHECKING:
    from lanework.handlers import Handler, Handlers

logger = logging.getLogger("lanework")


class Prepared:
    """What an application knows once its database is ready."""

    def __init__(self, settings: Settings) -> None:
        self.lease: embedded.Lease | None = None
        if settings.dsn is None:
            self.lease = embedded.acquire(settings.data)
            self.dsn = self.lease.dsn
        else:
            self.dsn = settings.dsn
        try:
            _check_and_migrate(settings.direct_dsn or self.dsn, settings)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        if self.lease is not None:
            self.lease.release()
            self.lease = None


def _check_and_migrate(dsn: str, settings: Settings) -> None:
    with connect(dsn, settings, "setup") as conn:
        embedded.check_durability(conn, allow_unsafe=settings.allow_unsafe)
        if migrate.is_current(conn):
            return
        if settings.migrate == "check":
            pending = ", ".join(str(one) for one in migrate.plan(conn))
            raise SchemaError(f"the database's schema is older than this version needs ({pending}); run `lanework migrate`")
        for done in migrate.apply(conn):
            logger.info("applied migration %s", done)


def register_types(dsn: str, settings: Settings, handlers: Handlers, lane_values: dict[str, dict[str, Any]]) -> dict[str, int]:
    """Tells the database what this application declares; answers the number of each type."""
    first = {name: {**values, **lanes.from_environment().get(name, {})} for name, values in lane_values.items()}
    if any(handler.estimator is not None for handler in handlers.values()):
        first = {ESTIMATES: {**ESTIMATES_LANE, **lanes.from_environment().get(ESTIMATES, {})}, **first}
    types = json.dumps([_type_row(handler, settings) for handler in handlers.values()])
    with connect(settings.direct_dsn or dsn, settings, "setup") as conn:
        return run(conn, register(types, json.dumps({**lanes.from_environment(), **first})))


def register_notifiers(dsn: str, settings: Settings, rows: list[dict[str, Any]]) -> None:
    with connect(settings.direct_dsn or dsn, settings, "setup") as conn:
        run(conn, register_rows(rows))


def _type_row(handler: Handler, settings: Settings) -> dict[str, Any]:
    approval, above, currency = parts(handler.approval)
    return {
        "name": handler.name, "lane": handler.lane, "executor": handler.executor, "priority": handler.priority,
        "max_tries": handler.max_tries, "timeout_s": handler.timeout, "max_age_s": handler.max_age,
        "stale_after_s": None if handler.stale_after == math.inf else handler.stale_after,
        "never_stale": handler.stale_after == math.inf, "reports_progress": handler.progress, "concurrency": handler.concurrency,
        "approval": approval, "approval_above": above, "approval_currency": currency, "four_eyes": handler.four_eyes,
        "approval_expiry_s": handler.approval_expiry or settings.approval_expiry,
        "estimator": None if handler.estimator is None else handler.estimator.name, "estimates": handler.estimates,
        "permits": sorted(handler.permits), "rate": handler.rate,
    }  # fmt: skip
