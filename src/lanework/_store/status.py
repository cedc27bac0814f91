"""What operators read: the state of everything at one moment, the server's condition, and proofs of the invariants."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from lanework._store.verb import Row, Verb, rows, verb


class Overview(NamedTuple):
    version: str
    database: str
    now: datetime
    leader: int | None
    leader_name: str | None
    completed: int  # in the last five minutes
    failed: int


class Queue(NamedTuple):
    """What a lane has in it. `oldest` is how many seconds its oldest claimable job has waited; `brake`: what holds it."""

    lane: str
    waiting: int
    delayed: int
    blocked: int
    running: int
    oldest: float | None
    brake: str


class Running(NamedTuple):
    id: int
    type: str
    lane: str | None
    attempt: int
    age: float
    fraction: float | None
    message: str
    worker: str | None
    stop: str | None


class ServerState(NamedTuple):
    version: int
    fsync: str
    full_page_writes: str
    synchronous_commit: str
    autovacuum: str
    standby: bool
    notifications: float
    clock: float
    max_connections: int
    reserved: int
    connections: int


class Transaction(NamedTuple):
    """An open transaction: who, for how many seconds, and the statement that would end it."""

    name: str
    age: float
    state: str
    application: str
    remedy: str


class Crew(NamedTuple):
    living: int
    silent: int
    leader: int | None


class Violation(NamedTuple):
    """A job or a worker, and what is wrong with it."""

    id: int
    what: str


def overview() -> Verb[Overview]:
    return verb("status_overview", lambda found: Overview._make(found[0]))


def queues(most: int) -> Verb[list[Queue]]:
    """Counted up to `most` of each kind."""
    return verb("status_queues", lambda found: [Queue._make(row) for row in found], most=most)


def running(limit: int) -> Verb[list[Running]]:
    """The longest-running jobs first."""
    return verb("status_running", lambda found: [Running._make(row) for row in found], limit=limit)


def server_state() -> Verb[ServerState]:
    return verb("doctor_server", lambda found: ServerState._make(found[0]))


def transactions(older: float) -> Verb[list[Transaction]]:
    """Transactions open for longer than so many seconds, as far as this role may see them."""
    return verb("doctor_transactions", lambda found: [Transaction._make(row) for row in found], older=older)


def crew() -> Verb[Crew]:
    return verb("doctor_workers", lambda found: Crew._make(found[0]))


def bloat() -> Verb[list[Row]]:
    """Tables whose dead rows outnumber the living: (table, live, dead)."""
    return verb("doctor_bloat", rows)


def violations(check: str, limit: int) -> Verb[list[Violation]]:
    """What breaks one invariant (`queries/verify_<check>.sql`); nothing, as it should be."""
    return verb(f"verify_{check}", lambda found: [Violation._make(row) for row in found], limit=limit)


def counts() -> Verb[Row]:
    """(live, running, finished, failed, workers)."""
    return verb("verify_counts", lambda found: found[0])


def unserved_lanes() -> Verb[list[str]]:
    """Lanes with job types that no living worker serves, while others are served."""
    return verb("doctor_unserved_lanes", lambda found: [row[0] for row in found])


def default_lane() -> Verb[list[Row]]:
    """(slots, its job types) of the lane `default`, if anything waits there."""
    return verb("doctor_default_lane", rows)


def notifiers() -> Verb[list[Row]]:
    """Notifiers whose messages do not arrive: (name, given up, tried in vain so far, last error)."""
    return verb("doctor_notifiers", rows)


def clocks() -> Verb[list[Row]]:
    """(worker, name, seconds by which the server's clock was ahead of its machine's when it started)."""
    return verb("doctor_clocks", rows)


def pools() -> Verb[list[Row]]:
    """(worker, name, connections that its jobs share, jobs that it may run at once)."""
    return verb("doctor_pools", rows)


class Pool(NamedTuple):
    """Connections by what they are for, as the server sees them."""

    name: str
    open: int
    busy: int


def connections() -> Verb[list[Pool]]:
    return verb("doctor_connections", lambda found: [Pool._make(row) for row in found])


def limits() -> Verb[Row]:
    """(role, has a statement_timeout, has an idle_in_transaction_session_timeout, isolation): what holds without our settings."""
    return verb("doctor_limits", lambda found: found[0])


def closed_lanes() -> Verb[list[Row]]:
    """Lanes that start nothing although jobs wait there: (name, waiting)."""
    return verb("doctor_closed_lanes", rows)
