"""Submitting: one job, or many by COPY. In our own connection, or in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from lanework._store.copying import Bulk, blocks, flushed, number, statement, text, texts
from lanework._store.verb import Row, Verb, query, scalar, translated, verb

if TYPE_CHECKING:
    from lanework.handlers import Handler, Payloads
    from lanework.job import Options, Submission


class Stored(NamedTuple):
    id: int
    lane: str


def submit(submission: Submission, *, hint: bool) -> Verb[int]:
    """In a transaction of its own; whom it concerns is told after the commit, in the same round trip."""
    return Verb(query("submit"), _params(submission, hint), scalar, commits=True)


def enqueue(submission: Submission, *, hint: bool) -> Verb[Stored]:
    """In the caller's transaction."""
    return Verb(query("enqueue"), _params(submission, hint), lambda found: Stored(found[0][0], found[0][1]))


def _params(submission: Submission, hint: bool) -> dict[str, Any]:
    handler, options = submission.handler, submission.options
    return {
        "type": handler.name, "payload": submission.payload, "version": handler.version, "hint": hint,
        "priority": options.priority, **_when(options), "key": options.idempotency_key, "owner": options.owner,
        "tags": list(options.tags) if options.tags else None, "max_age": seconds(options.max_age), "max_tries": options.max_tries,
        "session": options.session, "continues": options.continues, "from_step": options.from_step,
    }  # fmt: skip


def _when(options: Options) -> dict[str, Any]:
    """A delay is added to the database's time, not to ours."""
    if isinstance(options.run_at, timedelta):
        return {"run_at": None, "delay": options.run_at.total_seconds()}
    return {"run_at": options.run_at, "delay": None}


def seconds(value: timedelta | float | None) -> float | None:
    return value.total_seconds() if isinstance(value, timedelta) else value


def prepare_bulk(handler: Handler, count: int, options: Options) -> Verb[Bulk]:
    def decode(found: list[Row]) -> Bulk:
        first, ids, type_id, lane, fair_lane, turn, priority, max_tries, now, deadline, run_at = found[0]
        status = "approved" if run_at is None else "scheduled"
        if options.session is not None:
            status = "blocked"
        columns = {
            "created_at": number(now, 8),
            "run_at": None if run_at is None else number(run_at, 8),
            "deadline": None if deadline is None else number(deadline, 8),
            "status": text(status),
            "type_id": number(type_id, 4),
            "lane_id": number(fair_lane, 4) if fair_lane else None,
            "rank": number(-(priority if options.priority is None else options.priority), 2),
            "version": number(handler.version, 2),
            "max_tries": number(options.max_tries or max_tries, 2),
            "owner": None if options.owner is None else text(options.owner),
            "session": None if options.session is None else text(options.session),
            "blocked_on": None if options.session is None else text("session"),
            "tags": texts(options.tags) if options.tags else None,
        }
        turns = _turns(turn, count) if turn and status == "approved" else None
        shared = {name: value for name, value in columns.items() if value is not None}
        return Bulk(ids or range(first, first + count), turns, lane, shared)

    return verb(
        "prepare_bulk", decode, type=handler.name, count=count, owner=options.owner, priority=options.priority,
        max_age=seconds(options.max_age), **_when(options),
    )  # fmt: skip


def _turns(first: int, count: int) -> Sequence[int]:
    return range(first, first + count) if first + count <= 0 else [-1] * count


def copy_in(conn: psycopg.Connection[Any], bulk: Bulk, payloads: Payloads) -> None:
    """All or none. In a transaction of the caller `transaction()` is a savepoint, so that the caller can go on after an error."""
    with translated(), conn.transaction(), psycopg.Cursor(conn).copy(statement(bulk)) as copy:
        for block in blocks(bulk, payloads):
            copy.write(block)
            conn.wait(flushed(conn.pgconn))


async def acopy_in(conn: psycopg.AsyncConnection[Any], bulk: Bulk, payloads: Payloads) -> None:
    with translated():
        async with conn.transaction(), psycopg.AsyncCursor(conn).copy(statement(bulk)) as copy:
            for block in blocks(bulk, payloads):
                await copy.write(block)
                await conn.wait(flushed(conn.pgconn))
