"""When a schedule is due: pure arithmetic, no clock and no database of its own.

A cron is read by the wall clock of its zone:

- fixed times (neither the hour nor the minute field starts with `*`) happen once. A time that the clock jumps over happens
  when the jump is over; a time that the clock shows twice happens the first time.
- rhythms (the hour or the minute field starts with `*`) happen whenever the clock shows a match: what it jumps over does not
  happen, what it shows twice happens twice.

An interval is absolute time: clocks that are changed do not matter to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice, takewhile
from typing import Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from lanework.errors import InvalidSchedule

#: Ticks that one round looks at; those before them are missed, whatever the policy.
MOST = 100
#: Missed ticks are counted up to here; beyond it they are "many".
MOST_COUNTED = 5_000
SHORTEST, LONGEST = 1.0, 366 * 86_400.0
FIELDS = ("second", "minute", "hour", "day-of-month", "month", "day-of-week")
_ALLOWED = {
    "second": "0-59", "minute": "0-59", "hour": "0-23", "day-of-month": "1-31, L or LW", "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, with #1 to #5 or L",
}  # fmt: skip
_SECOND = timedelta(seconds=1)
_DAY = timedelta(days=1)


class Rhythm(Protocol):
    def after(self, moment: datetime) -> Iterator[datetime]:
        """The ticks later than `moment`, in order, in UTC."""


@dataclass(frozen=True, slots=True)
class Every:
    """`anchor` and then each `period`."""

    period: timedelta
    anchor: datetime

    def after(self, moment: datetime) -> Iterator[datetime]:
        number = max((moment - self.anchor) // self.period + 1, 1)
        while True:
            yield self.anchor + number * self.period
            number += 1


@dataclass(frozen=True, slots=True)
class Cron:
    text: str
    zone: tzinfo

    @property
    def is_fixed(self) -> bool:
        minute, hour = self.text.split()[-5:-3]
        return not minute.startswith("*") and not hour.startswith("*")

    def after(self, moment: datetime) -> Iterator[datetime]:
        return self._fixed(moment) if self.is_fixed else self._shown(moment)

    def _fixed(self, moment: datetime) -> Iterator[datetime]:
        local = moment.astimezone(self.zone).replace(tzinfo=None)
        for wall in CronSim(self.text, local):
            found = _first(wall, self.zone)
            if found > moment:  # several times that do not exist are one moment
                moment = found
                yield found

    def _shown(self, moment: datetime) -> Iterator[datetime]:
        """From one change of the offset to the next: in between, wall clock and time run alike."""
        offset = _offset(moment, self.zone)
        start = (moment + offset).replace(tzinfo=None)
        while True:
            for wall in CronSim(self.text, start):
                found = (wall - offset).replace(tzinfo=UTC)
                change = _change(moment, found, self.zone)
                if change is not None:
                    break
                moment = found
                yield found
            else:
                return
            moment, offset = change, _offset(change, self.zone)
            start = (moment + offset).replace(tzinfo=None) - _SECOND


def rhythm(*, cron: str | None, every_s: float | None, tz: str, anchor: datetime) -> Rhythm:
    if cron is not None:
        return Cron(cron, zone(tz))
    assert every_s is not None
    return Every(timedelta(seconds=every_s), anchor.astimezone(UTC))


def next_times(it: Rhythm, after: datetime, count: int) -> list[datetime]:
    return list(islice(it.after(after.astimezone(UTC)), count))


@dataclass(frozen=True, slots=True)
class Due:
    """What is due now: the newest ticks, and how many older ones there were. `next` is the first one still to come."""

    ticks: list[datetime]
    next: datetime | None
    first_missed: datetime | None = None
    missed: int | None = 0


def due(it: Rhythm, last: datetime, now: datetime) -> Due:
    """The ticks after `last` and up to `now`. Whatever lies in between, this takes milliseconds."""
    last, now = last.astimezone(UTC), now.astimezone(UTC)
    span = timedelta(minutes=1)
    while True:
        start = max(last, now - span)
        ticks = list(takewhile(lambda tick: tick <= now, it.after(start)))
        if start == last or len(ticks) >= MOST:
            break
        span *= 4
    coming = next(it.after(now), None)
    kept = ticks[-MOST:]
    first = next(it.after(last), None)
    if not kept or first is None or first >= kept[0]:
        return Due(kept, coming)
    return Due(kept, coming, first, _count(it, last, kept[0]))


def _count(it: Rhythm, after: datetime, before: datetime) -> int | None:
    found = sum(1 for _ in takewhile(lambda tick: tick < before, islice(it.after(after), MOST_COUNTED + 1)))
    return found if found <= MOST_COUNTED else None


# -- wall clocks -------------------------------------------------------------------------------------------------------


def zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC  # needs no data
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSchedule(
            f"tz: no time zone is called {name!r} here; expected a name like 'Europe/Zurich' or 'UTC' "
            "(a machine without time zone data needs its package tzdata, or `pip install tzdata`)",
            field="tz",
        ) from None


def _offset(moment: datetime, zone: tzinfo) -> timedelta:
    found = moment.astimezone(zone).utcoffset()
    assert found is not None
    return found


def _change(start: datetime, end: datetime, zone: tzinfo) -> datetime | None:
    """The first moment in (start, end] with another offset than `start` has, to the second."""
    offset = _offset(start, zone)
    before = start
    while before < end:
        after = min(before + _DAY, end)
        if _offset(after, zone) != offset:
            return _between(before, after, offset, zone)
        before = after
    return None


def _between(before: datetime, after: datetime, offset: timedelta, zone: tzinfo) -> datetime:
    before = before.replace(microsecond=0)
    while after - before > _SECOND:
        middle = before + ((after - before) // 2 // _SECOND) * _SECOND
        before, after = (middle, after) if _offset(middle, zone) == offset else (before, middle)
    return after.replace(microsecond=0)


def _first(wall: datetime, zone: tzinfo) -> datetime:
    """When the wall clock shows this for the first time; if it jumps over it, the moment at which it has jumped."""
    found = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if found.astimezone(zone).replace(tzinfo=None) == wall:
        return found
    # in a gap, fold 0 counts with the offset before it and so lands behind it; fold 1 lands in front of it
    front = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _between(front, found, _offset(front, zone), zone)


# -- checks ------------------------------------------------------------------------------------------------------------


def check_cron(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidSchedule(f"cron: expected text like '0 */6 * * *', got {text!r}", field="cron")
    parts = text.split()
    if len(parts) not in (5, 6):
        raise InvalidSchedule(
            f"cron: expected 5 fields (minute hour day-of-month month day-of-week), or 6 with seconds first, got {len(parts)} "
            f"in {text!r}",
            field="cron",
        )
    for name, part in zip(FIELDS[-len(parts) :], parts, strict=True):
        _check_field(text, name, part)
    try:
        first = next(Cron(" ".join(parts), UTC).after(datetime(2024, 1, 1, tzinfo=UTC)), None)
    except CronSimError as error:
        raise InvalidSchedule(f"cron: {error} in {text!r}", field="cron") from None
    if first is None:
        raise InvalidSchedule(f"cron: {text!r} never happens", field="cron")
    return " ".join(parts)


def _check_field(text: str, name: str, part: str) -> None:
    alone = ["*"] * 6
    alone[FIELDS.index(name)] = part
    try:
        CronSim(" ".join(alone), datetime(2024, 1, 1))  # noqa: DTZ001 - a wall clock
    except (CronSimError, AssertionError, ValueError, KeyError, TypeError) as error:
        if name == "day-of-month" and "day-of-month" not in str(error):
            return  # a day that only some months have: judged with the months
        raise InvalidSchedule(
            f"cron: the {name} field {part!r} of {text!r} is not valid; expected {_ALLOWED[name]}, with , - / and *", field="cron"
        ) from None


def check_every(seconds: float) -> float:
    if not SHORTEST <= seconds <= LONGEST:
        raise InvalidSchedule(f"every: expected {SHORTEST:g} s to {LONGEST / 86_400:g} days, got {seconds:g} s", field="every")
    return seconds
