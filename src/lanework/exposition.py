"""Metrics in the text format of Prometheus: counters and histograms of today, and gauges of this moment.

Counters begin anew at midnight UTC, whichever process is asked: `rate()` and `increase()` take that as the reset that it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lanework.metrics import BOUNDS, Metric, Times
from lanework.overview import Overview
from lanework.reports import WorkerInfo

if TYPE_CHECKING:
    from lanework.client import Lanework

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
COUNTS = ("submitted", "started", "completed", "failed", "retried", "recovered", "cancelled")


async def expose(app: Lanework) -> str:
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [*_counted(await app.ametrics(since=midnight)), *_now(await app.aoverview()), *_crew(await app.aworkers())]
    return "\n".join(lines) + "\n"


def _counted(found: list[Metric]) -> Iterator[str]:
    for what in COUNTS:
        yield from _head(f"lanework_jobs_{what}_total", "counter", f"jobs {what}")
        for one in found:
            yield _line(f"lanework_jobs_{what}_total", _of(one), getattr(one, what))
    yield from _head("lanework_jobs_failed_by_class_total", "counter", "failed jobs by error class")
    for one in found:
        for error_class, count in sorted(one.failed_by.items()):
            yield _line("lanework_jobs_failed_by_class_total", {**_of(one), "error_class": error_class}, count)
    yield from _head("lanework_spend_total", "counter", "what jobs have cost")
    for one in found:
        yield _line("lanework_spend_total", _of(one), one.spend)
    for name, what in (("wait", "from submit to the first start"), ("run", "of completed runs")):
        yield from _head(f"lanework_job_{name}_seconds", "histogram", what)
        for one in found:
            yield from _histogram(f"lanework_job_{name}_seconds", _of(one), getattr(one, name))


def _histogram(name: str, labels: Mapping[str, str], times: Times) -> Iterator[str]:
    """Every second bound, from a millisecond to an hour: what differs by less is one place to a dashboard."""
    below = 0
    for place, bound in enumerate(BOUNDS[:45]):
        below += times.histogram[place] if place < len(times.histogram) else 0
        if place % 2 == 0:
            yield _line(f"{name}_bucket", {**labels, "le": f"{bound:g}"}, below)
    yield _line(f"{name}_bucket", {**labels, "le": "+Inf"}, times.count)
    yield _line(f"{name}_sum", labels, times.total)
    yield _line(f"{name}_count", labels, times.count)


def _now(it: Overview) -> Iterator[str]:
    yield from _head("lanework_lane_slots", "gauge", "slots of a lane in the whole cluster; none: no limit")
    for lane in it.lanes:
        if lane.max_slots is not None:
            yield _line("lanework_lane_slots", {"lane": lane.name}, lane.max_slots)
    yield from _head("lanework_lane_used", "gauge", "slots that are taken")
    for lane in it.lanes:
        yield _line("lanework_lane_used", {"lane": lane.name}, lane.used)
    yield from _head("lanework_lane_enabled", "gauge", "0: the lane is drained")
    for lane in it.lanes:
        yield _line("lanework_lane_enabled", {"lane": lane.name}, int(lane.enabled))
    yield from _head("lanework_queue_depth", "gauge", "claimable jobs, counted up to 10,000")
    for lane in it.lanes:
        for depth in lane.queue:
            yield _line("lanework_queue_depth", {"lane": lane.name, "type": depth.type}, depth.waiting)
    yield from _head("lanework_queue_oldest_timestamp_seconds", "gauge", "when the oldest claimable job was submitted")
    for lane in it.lanes:
        for depth in lane.queue:
            if depth.oldest is not None:
                labels = {"lane": lane.name, "type": depth.type}
                yield _line("lanework_queue_oldest_timestamp_seconds", labels, depth.oldest.timestamp())


def _crew(workers: list[WorkerInfo]) -> Iterator[str]:
    states: dict[str, int] = {}
    for one in workers:
        states[one.state] = states.get(one.state, 0) + 1
    yield from _head("lanework_workers", "gauge", "worker processes by state")
    for state, count in sorted(states.items()):
        yield _line("lanework_workers", {"state": state}, count)
    yield from _head("lanework_leader", "gauge", "1: somebody does the maintenance")
    yield _line("lanework_leader", {}, int(any(one.leads for one in workers)))


def _of(one: Metric) -> dict[str, str]:
    return {"lane": one.lane, "type": one.type}


def _head(name: str, kind: str, what: str) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:.15g}" if inside else f"{name} {value:.15g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
