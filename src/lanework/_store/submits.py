"""Submitting: one job, or many by COPY. In our own connection, or in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from lanework._store.verb import Row, Verb, query, translated, verb

if TYPE_CHECKING:
    from lanework.handlers import Handler, Payloads
    from lanework.job import Options, Submission

COPY_BLOCK = 2000
BACKSLASH, TWO = "\\", "\\\\"


class Stored(NamedTuple):
    id: int
    lane: str


def enqueue(submission: Submission, *, hint: bool) -> Verb[Stored]:
    options = submission.options
    return verb(
        "enqueue", lambda found: Stored(found[0][0], found[0][1]),
        type=submission.handler.name, payload=submission.payload, version=submission.handler.version, hint=hint,
        priority=options.priority, **_when(options), key=options.idempotency_key, owner=options.owner,
        tags=list(options.tags) if options.tags else None, max_age=seconds(options.max_age), max_tries=options.max_tries,
        session=options.session, continues=options.continues, from_step=options.from_step,
    )  # fmt: skip


def _when(options: Options) -> dict[str, Any]:
    """A delay is added to the database's time, not to ours."""
    if isinstance(options.run_at, timedelta):
        return {"run_at": None, "delay": options.run_at.total_seconds()}
    return {"run_at": options.run_at, "delay": None}


def seconds(value: timedelta | float | None) -> float | None:
    return value.total_seconds() if isinstance(value, timedelta) else value


class Bulk(NamedTuple):
    """What a bulk submit knows before it copies: its ids, its turns in a fair lane, and the columns that all its rows share."""

    ids: Sequence[int]
    turns: Sequence[int]
    lane: str
    columns: str


def prepare_bulk(handler: Handler, count: int, options: Options) -> Verb[Bulk]:
    def decode(found: list[Row]) -> Bulk:
        first, ids, type_id, lane, fair_lane, turn, priority, max_tries, now, deadline, later, run_at = found[0]
        rank = -(priority if options.priority is None else options.priority)
        status, when = ("scheduled", run_at) if later else ("approved", None)
        session, blocked_on = options.session, None
        if session is not None:
            status, blocked_on = "blocked", "session"
        tries = options.max_tries or max_tries
        shared = [
            now, when, deadline, status, type_id, fair_lane or None, rank, handler.version, tries,
            options.owner, session, blocked_on,
        ]  # fmt: skip
        columns = "\t".join(map(_field, shared))
        turns = _turns(turn if status == "approved" else 0, count)
        return Bulk(ids or range(first, first + count), turns, lane, f"\t{columns}\t{_array(options.tags)}\t")

    return verb(
        "prepare_bulk", decode, type=handler.name, count=count, owner=options.owner, priority=options.priority,
        max_age=seconds(options.max_age), **_when(options),
    )  # fmt: skip


def _turns(first: int, count: int) -> Sequence[int]:
    if first == 0:
        return [0] * count
    return range(first, first + count) if first + count <= 0 else [-1] * count


def _field(value: object) -> str:
    if value is None:
        return r"\N"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _array(tags: Sequence[str] | None) -> str:
    if not tags:
        return r"\N"
    quoted = ",".join('"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"' for tag in tags)
    return _field("{" + quoted + "}")


def blocks(bulk: Bulk, payloads: Iterable[str]) -> Iterator[bytes]:
    """The rows as COPY reads them. JSON has no raw tab or line end; only its backslashes need another one."""
    rows = zip(bulk.ids, bulk.turns, payloads, strict=True)
    columns = bulk.columns
    while part := [
        f"{id}\t{turn}{columns}{payload.replace(BACKSLASH, TWO) if BACKSLASH in payload else payload}\n"
        for id, turn, payload in islice(rows, COPY_BLOCK)
    ]:
        yield "".join(part).encode()


def copy_in(conn: psycopg.Connection[Any], bulk: Bulk, payloads: Payloads) -> None:
    """All or none. In a transaction of the caller `transaction()` is a savepoint, so that the caller can go on after an error."""
    with translated(), conn.transaction(), psycopg.Cursor(conn).copy(query("copy_jobs")) as copy:
        for block in blocks(bulk, payloads):
            copy.write(block)


async def acopy_in(conn: psycopg.AsyncConnection[Any], bulk: Bulk, payloads: Payloads) -> None:
    with translated():
        async with conn.transaction(), psycopg.AsyncCursor(conn).copy(query("copy_jobs")) as copy:
            for block in blocks(bulk, payloads):
                await copy.write(block)
