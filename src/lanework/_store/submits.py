"""Submitting: one job, or many by COPY. In our own connection, or in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from lanework._store.verb import Row, Verb, arun, query, run, translated, verb

if TYPE_CHECKING:
    from lanework.handlers import Handler
    from lanework.job import Options, Submission

COPY_BLOCK = 2000


class Stored(NamedTuple):
    id: int
    lane: str


def enqueue(submission: Submission, *, hint: bool) -> Verb[Stored]:
    options = submission.options
    return verb(
        "enqueue", lambda found: Stored(found[0][0], found[0][1]),
        type=submission.handler.name, payload=submission.payload, version=submission.handler.version, hint=hint,
        priority=options.priority, run_at=moment(options.run_at), key=options.idempotency_key, owner=options.owner,
        tags=list(options.tags) if options.tags else None, max_age=seconds(options.max_age), max_tries=options.max_tries,
    )  # fmt: skip


def seconds(value: timedelta | float | None) -> float | None:
    return value.total_seconds() if isinstance(value, timedelta) else value


def moment(value: datetime | timedelta | None) -> Any:
    return value


class Bulk(NamedTuple):
    """What a bulk submit knows before it copies: its ids, and the columns that all its rows share."""

    ids: list[int]
    lane: str
    head: str
    tail: str


def prepare_bulk(handler: Handler, count: int, options: Options) -> Verb[Bulk]:
    def decode(found: list[Row]) -> Bulk:
        ids, type_id, lane, priority, max_tries, _, now, deadline, later, run_at = found[0]
        rank = -(priority if options.priority is None else options.priority)
        status, when = ("scheduled", run_at) if later else ("approved", None)
        columns = [now, when, deadline, status, type_id, rank, handler.version, options.max_tries or max_tries, options.owner]
        head = "\t".join(map(_field, columns))
        return Bulk(ids, lane, f"\t{head}\t{_array(options.tags)}\t", "\n")

    return verb(
        "prepare_bulk", decode, type=handler.name, count=count, max_age=seconds(options.max_age), run_at=moment(options.run_at)
    )


def _field(value: object) -> str:
    if value is None:
        return r"\N"
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _array(tags: Sequence[str] | None) -> str:
    if not tags:
        return r"\N"
    quoted = ",".join('"' + tag.replace("\\", "\\\\").replace('"', '\\"') + '"' for tag in tags)
    return _field("{" + quoted + "}")


def blocks(bulk: Bulk, payloads: Sequence[str]) -> Iterator[bytes]:
    head, tail = bulk.head, bulk.tail
    for start in range(0, len(payloads), COPY_BLOCK):
        part = payloads[start : start + COPY_BLOCK]
        lines = [f"{id}{head}{payload}{tail}" for id, payload in zip(bulk.ids[start : start + COPY_BLOCK], part, strict=True)]
        text = "".join(lines)
        if "\\" in text:  # JSON escapes of the payloads: COPY has escapes of its own
            lines = [
                f"{id}{head}{payload.replace(chr(92), chr(92) * 2)}{tail}"
                for id, payload in zip(bulk.ids[start : start + COPY_BLOCK], part, strict=True)
            ]
            text = "".join(lines)
        yield text.encode()


def submit_many(conn: psycopg.Connection[Any], handler: Handler, payloads: Sequence[str], options: Options) -> Bulk:
    with translated(), conn.transaction(), conn.cursor() as cursor:
        bulk = run(conn, prepare_bulk(handler, len(payloads), options))
        with cursor.copy(query("copy_jobs")) as copy:
            for block in blocks(bulk, payloads):
                copy.write(block)
    return bulk


async def asubmit_many(conn: psycopg.AsyncConnection[Any], handler: Handler, payloads: Sequence[str], options: Options) -> Bulk:
    with translated():
        async with conn.transaction(), conn.cursor() as cursor:
            bulk = await arun(conn, prepare_bulk(handler, len(payloads), options))
            async with cursor.copy(query("copy_jobs")) as copy:
                for block in blocks(bulk, payloads):
                    await copy.write(block)
    return bulk
