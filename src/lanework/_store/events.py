"""Events and metrics: reading the streams, telling, and who listens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg

from lanework._store.connect import connect
from lanework._store.verb import Row, Verb, nothing, query, rows, verb
from lanework.config import Settings


def read_events(xid: int | None, id: int, topics: Sequence[str] | None, kinds: Sequence[str] | None, limit: int) -> Verb[list[Row]]:
    """The first row has the horizon alone; without a position it is the only one."""
    return verb(
        "read_events", rows, xid=None if xid is None else str(xid), id=id,
        topics=None if topics is None else list(topics), kinds=None if kinds is None else list(kinds), limit=limit,
    )  # fmt: skip


def before_last(count: int, topics: Sequence[str] | None, kinds: Sequence[str] | None) -> Verb[str]:
    """The cursor after which there are `count` events."""
    return verb(
        "last_events", lambda found: f"{found[0][0]}-{found[0][1]}" if found else "0-0", count=count,
        topics=None if topics is None else list(topics), kinds=None if kinds is None else list(kinds),
    )  # fmt: skip


def job_events(
    job: int, *, attempt: int, phase: int, log: int, act: int, progress: datetime | None, limit: int
) -> Verb[list[Row]]:  # fmt: skip
    return verb("job_events", rows, job=job, attempt=attempt, phase=phase, log=log, act=act, progress=progress, limit=limit)


def event_horizon() -> Verb[Row]:
    return verb("event_horizon", lambda found: found[0])


def tell(topic: str, kind: str, *, job: int | None = None, data: Mapping[str, Any] | None = None) -> Verb[None]:
    return verb("tell", nothing, topic=topic, kind=kind, job=job, data=None if data is None else json.dumps(data))


def subscribe(id: str, seconds: float) -> Verb[None]:
    return verb("subscribe", nothing, id=id, seconds=seconds)


def unsubscribe(id: str) -> Verb[None]:
    return verb("unsubscribe", nothing, id=id)


def hint_events() -> Verb[None]:
    """Tells those who follow events, if there are any, that there may be new ones."""
    return verb("hint_events", nothing)


def listen_to_events(dsn: str, settings: Settings) -> psycopg.Connection[Any] | None:
    """A connection that hears the hints, or None where a pooler in between would swallow them."""
    conn = connect(dsn, settings, "events")
    if conn.prepare_threshold is None:
        conn.close()
        return None
    try:
        conn.execute(query("listen_events"))
    except BaseException:
        conn.close()
        raise
    return conn


def read_metrics(
    *, since: datetime | None, since_ago: float | None, until: datetime | None, until_ago: float | None, step: float | None,
    lanes: Sequence[str] | None, types: Sequence[str] | None,
) -> Verb[list[Row]]:  # fmt: skip
    return verb(
        "read_metrics", rows, since=since, since_ago=since_ago, until=until, until_ago=until_ago, step=step,
        lanes=None if lanes is None else list(lanes), types=None if types is None else list(types),
    )  # fmt: skip
