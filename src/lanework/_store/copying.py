"""New jobs as rows of a COPY in its binary format, which costs the server less to read than text does."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from psycopg import sql
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn
from psycopg.waiting import Wait

from lanework._store.verb import query

#: Rows that are sent at a time: few enough that the server has work while the next are made.
BLOCK = 500
_BEGIN = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"
_TEXT_OID = 25
#: Before the text of a `jsonb` value: the version of its format.
_JSONB = 1


class Bulk(NamedTuple):
    """What a bulk submit knows before it copies: its ids, its turns in a fair lane (None in a plain one), and the columns that all
    its rows share, packed. A column that is null is left out."""

    ids: Sequence[int]
    turns: Sequence[int] | None
    lane: str
    shared: Mapping[str, bytes]


def number(value: int, size: int) -> bytes:
    return struct.pack(">i", size) + value.to_bytes(size, "big", signed=True)


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">i", len(data)) + data


def texts(values: Sequence[str]) -> bytes:
    """A `text[]`: one dimension, no nulls, from 1 on."""
    data = struct.pack(">iiiii", 1, 0, _TEXT_OID, len(values), 1) + b"".join(map(text, values))
    return struct.pack(">i", len(data)) + data


def statement(bulk: Bulk) -> sql.Composed:
    names = ["id", *(["turn"] if bulk.turns is not None else []), *bulk.shared, "payload"]
    return sql.SQL(query("copy_jobs").decode()).format(columns=sql.SQL(", ").join(map(sql.Identifier, names)))


def blocks(bulk: Bulk, payloads: Iterable[str]) -> Iterator[bytes]:
    """What is sent, some hundred rows at a time."""
    yield _BEGIN
    yield from _plain(bulk, payloads) if bulk.turns is None else _fair(bulk, bulk.turns, payloads)
    yield _END


def flushed(pgconn: PGconn) -> PQGen[None]:
    """Waits until all is on its way. The driver keeps what the socket does not take at once: the server would wait for it, and of a
    big submit all would be in memory."""
    while pgconn.flush():
        yield Wait.W


def _plain(bulk: Bulk, payloads: Iterable[str]) -> Iterator[bytes]:
    shared, width = b"".join(bulk.shared.values()), len(bulk.shared) + 2
    pack = struct.Struct(f">hiq{len(shared)}siB").pack
    rows = zip(bulk.ids, map(str.encode, payloads), strict=True)
    while part := [
        field for id, data in islice(rows, BLOCK) for field in (pack(width, 8, id, shared, len(data) + 1, _JSONB), data)
    ]:  # fmt: skip
        yield b"".join(part)


def _fair(bulk: Bulk, turns: Sequence[int], payloads: Iterable[str]) -> Iterator[bytes]:
    shared, width = b"".join(bulk.shared.values()), len(bulk.shared) + 3
    pack = struct.Struct(f">hiqii{len(shared)}siB").pack
    rows = zip(bulk.ids, turns, map(str.encode, payloads), strict=True)
    while part := [
        field
        for id, turn, data in islice(rows, BLOCK)
        for field in (pack(width, 8, id, 4, turn, shared, len(data) + 1, _JSONB), data)
    ]:
        yield b"".join(part)
