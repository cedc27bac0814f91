"""Checks of what the engine keeps in the database."""

from __future__ import annotations

from collections.abc import Iterator

from lanework._store import status
from lanework._store.schedules import schedule_alarms
from lanework._store.verb import run
from lanework._store.workers import unserved_types
from lanework._words import count
from lanework.diagnosis.finding import ERROR, OK, WARNING, Check, Finding, Patient
from lanework.worker import CONNECTIONS

MOST = 10
#: Seconds between a worker's clock and the server's, its way to the server included.
SKEW = 5.0
#: A pool by the name of its connections → its size in one worker, and what it is for.
PURPOSES = {
    "worker": (CONNECTIONS, "claims, finishes, and what running jobs write"),
    "guard": (1, "heartbeats and maintenance"),
    "listen": (1, "hints"),
    "client": (0, "submits, reads, ctx.transaction(); LANEWORK_CONNECTIONS in each process"),
    "child": (0, "ctx.transaction() in child processes, up to 2 in each"),
    "setup": (0, "migrations at a start"),
    "cli": (0, "the command line"),
    "doctor": (0, "the diagnosis"),
}


def workers(it: Patient) -> Iterator[Finding]:
    crew = run(it.conn, status.crew())
    if crew.silent:
        what = f"{count(crew.silent, 'worker')} silent for longer than the expiry"
        yield Finding(WARNING, "workers", what, "lanework workers list; is the machine gone, or cut off from the database?")
    if crew.living == 0:
        yield Finding(WARNING, "workers", "none is running", "lanework worker module:app")
        return
    yield Finding(OK, "workers", f"{count(crew.living, 'worker')} alive")
    if crew.leader is None:
        what = "nobody leads: nothing is pruned, no metrics are merged"
        yield Finding(WARNING, "leader", what, "normal for 30 s after a death; later, see the workers' logs")


def served(it: Patient) -> Iterator[Finding]:
    found = run(it.conn, unserved_types())
    for kind, lane in found[:MOST]:
        what = f"jobs of type {kind} wait in lane {lane}, and no worker serves them"
        yield Finding(ERROR, "types", what, f"start a worker for lane {lane} whose application declares {kind}")
    if not found:
        yield Finding(OK, "types", "every waiting job has a worker that serves its type")


def lanes(it: Patient) -> Iterator[Finding]:
    found = run(it.conn, status.unserved_lanes())
    for name in found[:MOST]:
        what = f"no worker serves lane {name}: what is submitted there will wait"
        yield Finding(WARNING, "lanes", what, f"start a worker with --lanes {name}, or move its job types to another lane")
    for slots, kinds in run(it.conn, status.default_lane()):
        if slots is not None and len(kinds) > slots:
            what = (
                f"{count(len(kinds), 'job type')} without a lane share {count(slots, 'slot')} of lane default, and jobs wait there"
            )
            yield Finding(
                WARNING, "types", f"{what}: {_names(kinds)}", "give them lanes of their own: @app.job(lane=…), or more slots"
            )


def _names(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return f"{', '.join(names[:5])}{more}"


def clocks(it: Patient) -> Iterator[Finding]:
    off = [row for row in run(it.conn, status.clocks()) if abs(row[2]) > SKEW]
    for worker, name, ahead in off[:MOST]:
        what = f"the clock of worker {worker} ({name}) is {abs(ahead):.0f} s {'behind' if ahead > 0 else 'ahead of'} the server's"
        yield Finding(WARNING, "clock", what, "run NTP there: no promise depends on it, but its logs and its own `run_at` do")


def pools(it: Patient) -> Iterator[Finding]:
    for worker, name, size, slots in run(it.conn, status.pools())[:MOST]:
        if slots > size:
            what = f"worker {worker} ({name}) may run {slots:,} jobs at once"
            what += f", and those in ctx.transaction() share {count(size, 'connection')}"
            yield Finding(
                WARNING, "pools", what, "raise LANEWORK_CONNECTIONS there, if they wait for each other; or lower worker_slots"
            )
    living = run(it.conn, status.crew()).living
    for pool in run(it.conn, status.connections()):
        size, purpose = PURPOSES.get(pool.name, (0, "others"))
        most = f", at most {size} in each of {count(living, 'worker')}" if size else ""
        yield Finding(OK, "pools", f"{pool.name}: {pool.open} open, {pool.busy} busy{most} ({purpose})")


def closed_lanes(it: Patient) -> Iterator[Finding]:
    for name, waiting in run(it.conn, status.closed_lanes()):
        what = f"lane {name} is drained or has no slots, and {count(waiting, 'job')} wait there"
        yield Finding(WARNING, "lanes", what, f"lanework lanes resume {name}, or lanework lanes set {name} --max-slots N")


def notifiers(it: Patient) -> Iterator[Finding]:
    for name, failed, pending, error in run(it.conn, status.notifiers())[:MOST]:
        what = f"{name} is not told of dead letters: {failed} given up, {pending} tried again ({error or 'no answer'})"
        yield Finding(WARNING, "notifiers", what, "mend what it says; see lanework dead webhooks")


def schedules(it: Patient) -> Iterator[Finding]:
    for kind, name, what in run(it.conn, schedule_alarms()):
        if kind == "disabled":
            yield Finding(
                ERROR, "schedules", f"schedule {name} is disabled: {what}", f"mend it, then: lanework schedules resume {name}"
            )
        elif kind == "overdue":
            yield Finding(ERROR, "schedules", f"schedule {name} {what}, and nobody has fired it", "is a worker running?")
        else:
            yield Finding(
                WARNING, "maintenance", f"the last run of task {name} failed: {what}", f"lanework maintenance results {name}"
            )


def bloat(it: Patient) -> Iterator[Finding]:
    for name, live, dead in run(it.conn, status.bloat()):
        what = f"lanework.{name} has {dead:,} dead rows beside {live:,} living"
        yield Finding(WARNING, "bloat", what, f"end long transactions, then: vacuum lanework.{name};")


CHECKS: tuple[Check, ...] = (workers, served, lanes, closed_lanes, clocks, pools, schedules, notifiers, bloat)
