"""Schedules with a type that they submit, and who works it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.sql.engine import Claim, Engine

START = datetime(2030, 1, 1, tzinfo=UTC)


def at(**by: float) -> datetime:
    return START + timedelta(**by)


def schedule(engine: Engine, name: str = "s", **values: Any) -> None:
    given = {"type": "t", "every_s": 60, **values}
    engine.rows("select * from lanework.set_schedule(%s, %s, 'me', true)", name, json.dumps(given))


def fire(engine: Engine, *ticks: datetime, name: str = "s", revision: int | None = None, **more: Any) -> list[dict[str, Any]]:
    revision = revision or engine.one("select revision from lanework.schedules where name = %s", name)
    return engine.rows(
        "select * from lanework.fire(%s, %s, %s::timestamptz[], %s, %s, %s)",
        name, revision, list(ticks), more.get("first_missed"), more.get("missed"), more.get("next", at(days=9)),
    )  # fmt: skip


def outcomes(engine: Engine, name: str = "s") -> list[str]:
    return [row["outcome"] for row in engine.rows("select outcome from lanework.ticks where schedule = %s order by tick", name)]


def jobs(engine: Engine) -> int:
    return int(engine.one("select count(*) from lanework.jobs"))


class House:
    """A lane, a type, a worker that ends what is queued."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lane, self.worker = engine.lane("l", None), engine.worker()
        self.kind = engine.type("t", "l")

    def claim(self, *kinds: int) -> list[Claim]:
        return self.engine.claim(self.worker, self.lane, *(kinds or (self.kind,)), want=10)

    def end(self, action: str = "complete", **more: Any) -> None:
        for claim in self.claim():
            self.engine.settle(self.worker, claim, action=action, **more)
