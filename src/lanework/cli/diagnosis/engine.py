"""Checks of what the engine keeps in the database."""

from __future__ import annotations

from collections.abc import Iterator

from lanework._store import status
from lanework._store.schedules import schedule_alarms
from lanework._store.verb import run
from lanework._store.workers import unserved_types
from lanework.cli.diagnosis.finding import ERROR, OK, WARNING, Check, Finding, Patient
from lanework.cli.text import count

MOST = 10


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


def closed_lanes(it: Patient) -> Iterator[Finding]:
    for name, waiting in run(it.conn, status.closed_lanes()):
        what = f"lane {name} is drained or has no slots, and {count(waiting, 'job')} wait there"
        yield Finding(WARNING, "lanes", what, f"lanework lanes resume {name}, or lanework lanes set {name} --max-slots N")


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


CHECKS: tuple[Check, ...] = (workers, served, closed_lanes, schedules, bloat)
