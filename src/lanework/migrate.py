"""The schema runner: numbered SQL files, each applied once, by one process, in order.

    migrate.apply(connection)                                   # the engine's own
    migrate.apply(connection, schema="kg", folder=files("kg") / "migrations")

A file is `0001_name.sql`. It runs in its own transaction together with its row in `<schema>.migrations`. A file whose
first line is `-- no transaction` holds one statement that PostgreSQL refuses inside one (`create index concurrently`);
it must be able to run again, because a crash can come between the statement and its row.

Connections are blocking and in autocommit. Only transaction-scoped locks are taken, so a transaction pooler is fine.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from lanework.errors import MigrationDrift, SchemaError

Connection = psycopg.Connection[Any]

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_NO_TRANSACTION = "-- no transaction"
_LOCK = 0x4C574D47  # the first of two advisory lock keys, ours alone; the second stands for the schema

_BOOK = """create schema if not exists {schema};
create table if not exists {schema}.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    applied_by text not null
)"""
_RECORD = """insert into {schema}.migrations (number, name, checksum, applied_by)
values ({number}, {name}, {checksum}, {by})"""
# No limit of the session may end a migration half way: neither a long statement, nor the keeper's idle transaction.
_PATIENT = b"set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0"
_READ = "select number, name, checksum from {schema}.migrations order by number"


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def file(self) -> str:
        return f"{self.number:04}_{self.name}.sql"

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def in_transaction(self) -> bool:
        return self.text.partition("\n")[0].strip() != _NO_TRANSACTION

    def __str__(self) -> str:
        return self.file


def load(folder: Traversable | None = None) -> list[Migration]:
    """The files of a folder in order. Numbers begin at 1 and have no gaps."""
    folder = folder or _own_folder()
    found = sorted((_parse(item) for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda it: it.number)
    for expected, migration in enumerate(found, 1):
        if migration.number != expected:
            trouble = "is there twice" if migration.number < expected else f"comes where {expected:04} should be"
            raise SchemaError(f"the number of {migration.file} in {folder} {trouble}. Number the files 0001, 0002, …")
    return found


def plan(connection: Connection, *, schema: str = "lanework", folder: Traversable | None = None) -> list[Migration]:
    """What is still to be applied. Changes nothing."""
    _must_be_idle(connection)
    return _pending(load(folder), _applied(connection, schema), schema)


def is_current(connection: Connection, *, schema: str = "lanework", folder: Traversable | None = None) -> bool:
    """One cheap query: is there nothing to do? When this says no, `apply` does it or says why not."""
    _must_be_idle(connection)
    applied = [(number, checksum) for number, _, checksum in _applied(connection, schema)]
    return applied == [(migration.number, migration.checksum) for migration in load(folder)]


def apply(connection: Connection, *, schema: str = "lanework", folder: Traversable | None = None) -> list[Migration]:
    """Apply what is pending, and return what this call applied. Any number of processes may call it at once."""
    _must_be_idle(connection)
    wanted, done = load(folder), list[Migration]()
    while pending := _pending(wanted, _applied(connection, schema), schema):
        if pending[0].in_transaction:
            done += _apply_in_transaction(connection, schema, wanted)
        else:
            done += _apply_beside_transaction(connection, schema, wanted)
    return done


def render(folder: Traversable | None = None, *, schema: str = "lanework") -> str:
    """The whole schema as a script for psql, books included: after it, `is_current` is true."""
    parts = [_with(_BOOK, schema).as_string() + ";"]
    for migration in load(folder):
        body = [
            migration.text.rstrip().removesuffix(";") + ";",
            _record(schema, migration, by="psql").as_string() + ";",
        ]
        if migration.in_transaction:
            body = ["begin;", *body, "commit;"]
        parts.append("\n".join([f"-- {migration.file}", *body]))
    return "\n\n".join(parts) + "\n"


def _apply_in_transaction(connection: Connection, schema: str, wanted: Sequence[Migration]) -> list[Migration]:
    """One file, or none when another process was faster."""
    with _locked(connection, schema):
        for migration in _next_under_lock(connection, schema, wanted):
            if migration.in_transaction:
                _run(connection, migration)
                connection.execute(_record(schema, migration))
                return [migration]
    return []


def _apply_beside_transaction(connection: Connection, schema: str, wanted: Sequence[Migration]) -> list[Migration]:
    """The lock is held on a second connection. Its transaction is idle, so `concurrently` does not wait for it."""
    address = make_conninfo(connection.info.dsn, password=connection.info.password or None)
    with psycopg.connect(address, autocommit=True) as keeper, _locked(keeper, schema):
        for migration in _next_under_lock(keeper, schema, wanted):
            if not migration.in_transaction:
                _run(connection, migration)
                keeper.execute(_record(schema, migration))
                return [migration]
    return []


def _next_under_lock(connection: Connection, schema: str, wanted: Sequence[Migration]) -> list[Migration]:
    if not _has_book(connection, schema):
        connection.execute(_with(_BOOK, schema))
    return _pending(wanted, _applied(connection, schema), schema)[:1]


@contextlib.contextmanager
def _locked(connection: Connection, schema: str) -> Iterator[None]:
    """A transaction that holds the lock.

    Waiting is done between transactions: a statement that waits has a snapshot, and `create index concurrently`, run by
    the holder of the lock, would wait for it for ever.
    """
    keys = (_LOCK, zlib.crc32(schema.encode()) & 0x7FFFFFFF)
    while True:
        with connection.transaction():
            if _value(connection, "select pg_try_advisory_xact_lock(%s, %s)", keys):
                connection.execute(_PATIENT)
                yield
                return
        time.sleep(0.02)


def _run(connection: Connection, migration: Migration) -> None:
    try:
        connection.execute(migration.text.encode())
    except psycopg.Error as error:
        kept = "Nothing of it was kept" if migration.in_transaction else "It may have left something behind"
        raise SchemaError(f"{migration.file} failed: {str(error).strip()}. {kept}; mend it and run again.") from error


def _pending(wanted: Sequence[Migration], applied: Sequence[tuple[int, str, str]], schema: str) -> list[Migration]:
    if len(applied) > len(wanted):
        number, name, _ = applied[-1]
        raise SchemaError(
            f"the database is newer than this code: schema {schema} has {number:04}_{name}, and this code knows "
            f"{len(wanted)} migrations. Update lanework here, or connect to another database."
        )
    for migration, (number, name, checksum) in zip(wanted, applied, strict=False):
        if (migration.number, migration.checksum) != (number, checksum):
            raise MigrationDrift(
                f"{migration.file} is not what was applied to schema {schema} as {number:04}_{name}: its checksum is "
                f"{migration.checksum[:12]}, the database has {checksum[:12]}. Restore it; changes go in a new file."
            )
    return list(wanted[len(applied) :])


def _applied(connection: Connection, schema: str) -> list[tuple[int, str, str]]:
    try:
        with connection.cursor(row_factory=tuple_row) as cursor:
            return cursor.execute(_with(_READ, schema), prepare=False).fetchall()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return []


def _has_book(connection: Connection, schema: str) -> bool:
    name = _with("{schema}.migrations", schema).as_string(connection)
    return _value(connection, "select to_regclass(%s) is not null", (name,))


def _value(connection: Connection, question: str, values: tuple[object, ...]) -> bool:
    with connection.cursor(row_factory=tuple_row) as cursor:
        answer = cursor.execute(question, values, prepare=False).fetchone()
    return answer is not None and bool(answer[0])


def _record(schema: str, migration: Migration, by: str = "") -> sql.Composed:
    facts = {"number": migration.number, "name": migration.name, "checksum": migration.checksum, "by": by or _who()}
    return _with(_RECORD, schema, **{name: sql.Literal(value) for name, value in facts.items()})


def _with(template: str, schema: str, **values: sql.Composable) -> sql.Composed:
    return sql.SQL(template).format(schema=sql.Identifier(schema), **values)


def _who() -> str:
    return f"{socket.gethostname()}, process {os.getpid()}"


def _parse(item: Traversable) -> Migration:
    match = _FILE.fullmatch(item.name)
    if not match:
        raise SchemaError(f"{item.name} is not the name of a migration. Name it like 0007_add_lanes.sql")
    return Migration(int(match[1]), match[2], item.read_text(encoding="utf-8"))


def _own_folder() -> Traversable:
    return files("lanework") / "_store" / "migrations"


def _must_be_idle(connection: Connection) -> None:
    if not connection.autocommit or connection.info.transaction_status != TransactionStatus.IDLE:
        raise SchemaError("migrations need an idle connection in autocommit. Use psycopg.connect(…, autocommit=True).")
