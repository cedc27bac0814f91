"""What of an event belongs to one owner: nothing else of it is told to him."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace

from lanework._store.overview import Stretch, job_owners
from lanework.client import Lanework
from lanework.events import Event


async def owned_stretches(app: Lanework, owners: Iterable[str], events: Sequence[Event]) -> dict[str, list[Stretch]]:
    names = list(owners)
    found: dict[str, list[Stretch]] = {name: [] for name in names}
    stretches = sorted({one for event in events for one in _stretches(event.jobs)})
    if stretches:
        for owner, first, last in await app._arun(job_owners(names, stretches)):
            found[owner].append((first, last))
    return found


def _stretches(jobs: Sequence[int]) -> list[Stretch]:
    return [(jobs[0], jobs[-1])] if isinstance(jobs, range) else [(job, job) for job in jobs]


def own(event: Event, stretches: Sequence[Stretch]) -> Event | None:
    """What of an event is about these jobs. Nothing else of it is told: progress and lines of several jobs come together.

    The stretches are in order, and no two of them touch.
    """
    jobs = _common(event.jobs, stretches)
    if not jobs:
        return None
    if len(jobs) == len(event.jobs):
        return event
    data = {key: value for key, value in event.data.items() if not isinstance(value, list)}
    kept = set(jobs)
    for part, name in (("jobs", "id"), ("lines", "job")):
        if part in event.data:
            data[part] = [one for one in event.data[part] if one[name] in kept]
    return replace(event, jobs=jobs, data=data)


def _common(jobs: Sequence[int], stretches: Sequence[Stretch]) -> Sequence[int]:
    if not isinstance(jobs, range):
        return tuple(job for job in jobs if _holds(stretches, job))
    parts = [range(max(first, jobs[0]), min(last, jobs[-1]) + 1) for first, last in stretches]
    return jobs if jobs in parts else tuple(job for part in parts for job in part)


def _holds(stretches: Sequence[Stretch], job: int) -> bool:
    at = bisect_right(stretches, job, key=lambda one: one[0]) - 1
    return at >= 0 and job <= stretches[at][1]
