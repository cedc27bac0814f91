"""Drains and freezes: what keeps lanes and workers from starting jobs."""

from __future__ import annotations

from collections.abc import Sequence

from lanework._store.claims import Held
from lanework._store.verb import Row, Verb, rows, scalar, verb


def drain_worker(worker: int, by: str) -> Verb[str]:
    return verb("drain_worker", scalar, worker=worker, by=by)


def resume_worker(worker: int, by: str) -> Verb[str]:
    return verb("resume_worker", scalar, worker=worker, by=by)


def drain_all(by: str, reason: str) -> Verb[bool]:
    return verb("drain_all", scalar, by=by, reason=reason)


def resume_all(by: str) -> Verb[bool]:
    return verb("resume_all", scalar, by=by)


def freeze(lanes: Sequence[str], by: str, reason: str, seconds: float) -> Verb[int]:
    return verb("freeze", scalar, lanes=list(lanes), by=by, reason=reason, seconds=seconds)


def freeze_for(held: Held, lanes: Sequence[str], reason: str) -> Verb[int]:
    """A hold that ends with this run."""
    return verb("freeze_for", scalar, **held._asdict(), lanes=list(lanes), reason=reason)


def thaw(freeze: int, by: str) -> Verb[list[str]]:
    return verb("thaw", scalar, freeze=freeze, by=by)


def busy_lanes(lanes: Sequence[str], job: int | None) -> Verb[list[Row]]:
    """(lane, bodies) for those in which anything runs, the job that asks not counted."""
    return verb("busy_lanes", rows, lanes=list(lanes), job=job)


def list_freezes() -> Verb[list[Row]]:
    return verb("list_freezes", rows)
