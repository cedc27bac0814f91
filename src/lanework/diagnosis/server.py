"""Checks of the server: they need no schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg

from lanework import migrate
from lanework._store import status
from lanework._store.connect import connect, is_pooled
from lanework._store.verb import query, run
from lanework._words import age, count
from lanework.diagnosis.finding import ERROR, OK, WARNING, Check, Finding, Patient
from lanework.errors import LaneworkError, SchemaError
from lanework.worker import CONNECTIONS

OLDEST_SERVER = 150_000
#: A worker's own connections, LISTEN, and the two of its guard.
WORKER_CONNECTIONS = CONNECTIONS + 3
LONG_TRANSACTION = 300.0
SKEW = 2.0
TIMEOUTS = ("statement_timeout", "idle_in_transaction_session_timeout")
_SWITCH_ON = "alter system set {0} = on; select pg_reload_conf();"


def version(it: Patient) -> Iterator[Finding]:
    major, minor = divmod(it.server.version, 10_000)
    if it.server.version < OLDEST_SERVER:
        yield Finding(ERROR, "server", f"PostgreSQL {major} is too old", "use PostgreSQL 15 or newer")
    elif it.server.standby:
        yield Finding(ERROR, "server", "this is a standby: it takes no writes", "connect to the primary")
    else:
        yield Finding(OK, "server", f"PostgreSQL {major}.{minor}")


def durability(it: Patient) -> Iterator[Finding]:
    names = ("fsync", "synchronous_commit", "full_page_writes")
    off = [name for name in names if getattr(it.server, name) == "off"]
    for name in off:
        pages = name == "full_page_writes"
        loss = "a crash may damage pages" if pages else "a crash can lose committed jobs"
        level = WARNING if pages or it.settings.allow_unsafe else ERROR
        yield Finding(level, "durability", f"{name} is off: {loss}", _SWITCH_ON.format(name))
    if not off:
        yield Finding(OK, "durability", "what is committed is kept")


def pooler(it: Patient) -> Iterator[Finding]:
    if it.settings.dsn is None or not it.settings.direct_dsn:
        row = it.conn.execute(query("hello")).fetchone()
        if not is_pooled(it.conn.info.backend_pid, row):
            yield Finding(OK, "pooler", "none in between")
            return
        what = "a pooler sits in between: jobs are found by polling alone, and heartbeats wait for its connections as all do"
        yield Finding(WARNING, "pooler", what, "set LANEWORK_DIRECT_DSN to the server itself: heartbeats and LISTEN go there")
    if it.settings.dsn is not None:
        with connect(it.settings.dsn, it.settings, "cli") as conn:  # of its own: one that refuses something ends the connection
            yield from _through(conn)


def _through(conn: psycopg.Connection[Any]) -> Iterator[Finding]:
    """What a pooler lets through: transactions, and the limits of the role, since none can be set per session."""
    if not is_pooled(conn.info.backend_pid, conn.execute(query("hello")).fetchone()):
        yield Finding(OK, "pooler", "none in between")
        return
    try:
        with conn.transaction():
            role, statements, idle, isolation = run(conn, status.limits())
    except (psycopg.Error, LaneworkError) as error:
        what = f"the pooler refuses transactions: {str(error).strip().splitlines()[0]}"
        yield Finding(ERROR, "pooler", what, "pool_mode = transaction; statement pooling cannot work")
        return
    lacking = [name for name, there in zip(TIMEOUTS, (statements, idle), strict=True) if not there]
    if lacking:
        what = f"role {role} has no {' and no '.join(lacking)}, and behind a pooler no session can set one"
        yield Finding(WARNING, "pooler", what, " ".join(f"alter role {role} set {name} = '30s';" for name in lacking))
    if isolation != "read committed":
        what = f"transactions of role {role} begin as {isolation}: claims are refused"
        yield Finding(ERROR, "pooler", what, f"alter role {role} set default_transaction_isolation = 'read committed';")
    yield Finding(OK, "pooler", "transactions go through it")


def connections(it: Patient) -> Iterator[Finding]:
    usable, ours = it.server.max_connections - it.server.reserved, it.settings.connections
    free = usable - it.server.connections
    what = f"{it.server.connections} of {usable} in use; a worker takes {WORKER_CONNECTIONS}, a client up to {ours}"
    if free >= WORKER_CONNECTIONS + ours:
        yield Finding(OK, "connections", what)
        return
    level = ERROR if free < WORKER_CONNECTIONS else WARNING
    yield Finding(level, "connections", f"{what}: no room for one more of each", "raise max_connections, or run fewer processes")


def notifications(it: Patient) -> Iterator[Finding]:
    usage = it.server.notifications
    if usage < 0.1:
        yield Finding(OK, "notifications", f"queue {usage:.0%} full")
        return
    what = f"queue {usage:.0%} full: a session LISTENs and never reads; when it is full, submits fail"
    remedy = "find it in pg_stat_activity, oldest xact_start first, and end it with pg_terminate_backend(pid)"
    yield Finding(ERROR if usage >= 0.5 else WARNING, "notifications", what, remedy)


def clock(it: Patient) -> Iterator[Finding]:
    if abs(it.skew) <= SKEW + it.uncertainty:
        yield Finding(OK, "clock", f"{abs(it.skew):.1f} s between this machine and the server")
        return
    what = f"this machine is {abs(it.skew):.1f} s {'behind' if it.skew > 0 else 'ahead of'} the server"
    yield Finding(
        WARNING, "clock", what, "run NTP on both: the server's clock decides, and a `run_at` from this one is off by as much"
    )


def transactions(it: Patient) -> Iterator[Finding]:
    found = run(it.conn, status.transactions(LONG_TRANSACTION))
    for one in found[:5]:
        what = f"{one.name} ({one.application or 'unnamed'}, {one.state}) has a transaction open for {age(one.age)}"
        yield Finding(WARNING, "transactions", f"{what}: dead rows stay meanwhile", f"end it, or: {one.remedy};")
    if not found:
        yield Finding(OK, "transactions", "none is open for long")
    if it.server.autovacuum == "off":
        yield Finding(ERROR, "vacuum", "autovacuum is off: tables only grow", _SWITCH_ON.format("autovacuum"))


def schema(it: Patient) -> Iterator[Finding]:
    try:
        pending = migrate.plan(it.conn)
    except SchemaError as error:
        what, _, remedy = str(error).rpartition(". ")
        yield Finding(ERROR, "schema", f"{error.code}: {what}", remedy)
        return
    if pending:
        yield Finding(ERROR, "schema", f"{count(len(pending), 'migration')} not applied yet", "lanework migrate")
    else:
        yield Finding(OK, "schema", "up to date")


CHECKS: tuple[Check, ...] = (version, durability, pooler, connections, notifications, clock, transactions, schema)
