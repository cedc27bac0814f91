"""Metrics: counts per minute, lane and type, added up over any span; times as histograms that can be merged by adding them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from typing import Any

from lanework._store.events import read_metrics
from lanework._store.verb import Row, Verb
from lanework.errors import ConfigError

#: Upper bounds of the places of a histogram, in seconds, as `lanework.bucket_bounds` has them; one more place is beyond them all.
BOUNDS = tuple(0.001 * 2 ** (place / 2) for place in range(63))


@dataclass(frozen=True, slots=True)
class Times:
    """How long something took. Percentiles come from the histogram: off by at most the width of a place, a factor of √2."""

    count: int
    total: float
    histogram: tuple[int, ...]

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    @property
    def p50(self) -> float | None:
        return percentile(self.histogram, 0.50)

    @property
    def p95(self) -> float | None:
        return percentile(self.histogram, 0.95)

    @property
    def p99(self) -> float | None:
        return percentile(self.histogram, 0.99)


@dataclass(frozen=True, slots=True)
class Metric:
    """What happened in `seconds` from `at` on, in one lane, to one type. Names that are gone are empty.

    wait     from submit to the first start
    run      of completed runs
    """

    at: datetime
    seconds: float
    lane: str
    type: str
    submitted: int
    started: int
    completed: int
    failed: int
    retried: int
    recovered: int
    cancelled: int
    failed_by: Mapping[str, int]
    spend: float
    wait: Times
    run: Times

    def rate(self, what: str) -> float:
        """Per second: `rate("completed")`."""
        return float(getattr(self, what)) / self.seconds if self.seconds > 0 else 0.0


def percentile(histogram: Sequence[int], share: float) -> float | None:
    """The value below which `share` of what was counted lies, between the bounds of its place."""
    total = sum(histogram)
    if not total:
        return None
    rank, below = share * total, 0
    for place, count in enumerate(histogram):
        if count and below + count >= rank:
            return _between(place, (rank - below) / count)
        below += count
    return BOUNDS[-1]


def _between(place: int, part: float) -> float:
    if place == 0:
        return BOUNDS[0] * part
    if place >= len(BOUNDS):
        return BOUNDS[-1]
    low, high = BOUNDS[place - 1], BOUNDS[place]
    return float(low * (high / low) ** part)


def merged(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip_longest(one, other, fillvalue=0))


def metrics(
    since: datetime | timedelta, until: datetime | timedelta | None, lane: str | Sequence[str] | None,
    type: str | Sequence[str] | None, step: timedelta | float | None,
) -> Verb[list[Metric]]:  # fmt: skip
    width = step.total_seconds() if isinstance(step, timedelta) else step
    if width is not None and (width < 60 or width % 60):
        raise ConfigError(f"step: expected whole minutes, got {step!r}: metrics are kept per minute")
    found = read_metrics(
        since=_moment(since), since_ago=_ago(since), until=_moment(until), until_ago=0.0 if until is None else _ago(until),
        step=width, lanes=_several(lane), types=_several(type),
    )  # fmt: skip
    return Verb(found.sql, found.params, lambda rows: [_metric(row, width) for row in rows])


def _moment(when: datetime | timedelta | None) -> datetime | None:
    if isinstance(when, datetime) and when.tzinfo is None:
        raise ConfigError(f"since and until: expected a time with its zone, or how long ago, got {when!r}")
    return when if isinstance(when, datetime) else None


def _ago(when: datetime | timedelta) -> float | None:
    """By the database's clock, like everything."""
    return when.total_seconds() if isinstance(when, timedelta) else None


def _several(names: str | Sequence[str] | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _metric(row: Row, width: float | None) -> Metric:
    _, until, at, lane, type, *counts = row[:12]
    wait_s, run_s, spend, wait, run, failed_by = row[12:]
    end = until if width is None else min(until, at + timedelta(seconds=width))
    submitted, started, completed, failed, retried, recovered, cancelled = counts
    return Metric(
        at, (end - at).total_seconds(), lane, type, submitted, started, completed, failed, retried, recovered, cancelled,
        json.loads(failed_by), spend, _times(wait_s, wait), _times(run_s, run),
    )  # fmt: skip


def _times(total: float, histogram: Any) -> Times:
    found = tuple(int(count) for count in histogram)
    return Times(sum(found), total, found)
