"""When a schedule is due: the table of clock changes, and the rule against which any cron is checked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanework._ticks import MOST, Cron, Every, check_cron, due, next_times, zone
from lanework.errors import InvalidSchedule


def moments(cron: str, tz: str, start: str, count: int) -> list[str]:
    """The next ticks as local times with their offset."""
    found = next_times(Cron(cron, zone(tz)), datetime.fromisoformat(start), count)
    return [f"{tick.astimezone(zone(tz)):%m-%d %H:%M%z}" for tick in found]


#: cron, zone, from when, what the wall clock shows at the next ticks.
CASES = {
    "spring forward, a fixed time that does not exist": (
        "30 2 * * *", "Europe/Zurich", "2026-03-28T00:00Z", ["03-28 02:30+0100", "03-29 03:00+0200", "03-30 02:30+0200"]),
    "spring forward, with seconds given": (
        "0 30 2 * * *", "Europe/Zurich", "2026-03-28T00:00Z", ["03-28 02:30+0100", "03-29 03:00+0200", "03-30 02:30+0200"]),
    "spring forward, two fixed times in the gap are one": (
        "0,30 2 * * *", "Europe/Zurich", "2026-03-28T12:00Z", ["03-29 03:00+0200", "03-30 02:00+0200", "03-30 02:30+0200"]),
    "spring forward, a rhythm": (
        "*/30 * * * *", "Europe/Zurich", "2026-03-29T00:10Z", ["03-29 01:30+0100", "03-29 03:00+0200", "03-29 03:30+0200"]),
    "spring forward, a rhythm in the hour that does not exist": (
        "*/30 2 * * *", "Europe/Zurich", "2026-03-28T12:00Z", ["03-30 02:00+0200", "03-30 02:30+0200"]),
    "fall back, a fixed time that comes twice": (
        "30 2 * * *", "Europe/Zurich", "2026-10-24T12:00Z", ["10-25 02:30+0200", "10-26 02:30+0100"]),
    "fall back, asked between the two": (
        "30 2 * * *", "Europe/Zurich", "2026-10-25T01:10Z", ["10-26 02:30+0100"]),
    "fall back, a rhythm": (
        "0 * * * *", "Europe/Zurich", "2026-10-24T23:30Z", ["10-25 02:00+0200", "10-25 02:00+0100", "10-25 03:00+0100"]),
    "fall back, every six hours by the clock": (
        "0 */6 * * *", "Europe/Zurich", "2026-10-24T21:00Z", ["10-25 00:00+0200", "10-25 06:00+0100", "10-25 12:00+0100"]),
    "New York, spring forward": (
        "15 2 * * *", "America/New_York", "2026-03-07T12:00Z", ["03-08 03:00-0400", "03-09 02:15-0400"]),
    "New York, fall back": (
        "15 1 * * *", "America/New_York", "2026-10-31T12:00Z", ["11-01 01:15-0400", "11-02 01:15-0500"]),
    "a zone of half an hour, no changes": (
        "0 9 * * *", "Asia/Kolkata", "2026-03-28T00:00Z", ["03-28 09:00+0530", "03-29 09:00+0530"]),
    "a zone of three quarters": ("0 9 * * *", "Asia/Kathmandu", "2026-03-28T00:00Z", ["03-28 09:00+0545"]),
    "a zone of half an hour that changes": (
        "30 2 * * *", "America/St_Johns", "2026-03-07T12:00Z", ["03-08 03:00-0230", "03-09 02:30-0230"]),
    "Lord Howe, half an hour forward, fixed": (
        "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00Z", ["10-04 02:30+1100", "10-05 02:15+1100"]),
    "Lord Howe, half an hour back, fixed": (
        "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T12:00Z", ["04-05 01:45+1100", "04-06 01:45+1030"]),
    "Lord Howe, half an hour back, a rhythm": (
        "*/15 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:20Z",
        ["04-05 01:30+1100", "04-05 01:45+1100", "04-05 01:30+1030", "04-05 01:45+1030"]),
    "Lord Howe, the hour after the change begins at its beginning": (
        "* 2 * * *", "Australia/Lord_Howe", "2026-04-04T14:50Z", ["04-05 02:00+1030", "04-05 02:01+1030"]),
    "midnight does not exist": (
        "0 0 * * *", "Africa/Cairo", "2026-04-23T00:00Z", ["04-24 01:00+0300", "04-25 00:00+0300"]),
    "midnight comes twice": ("0 0 * * *", "America/Havana", "2026-10-31T12:00Z", ["11-01 00:00-0400", "11-02 00:00-0500"]),
    "the date line: a day that does not exist": (
        "0 12 * * *", "Pacific/Apia", "2011-12-29T12:00Z",
        ["12-29 12:00-1000", "12-31 00:00+1400", "12-31 12:00+1400"]),
    "the date line: a rhythm": (
        "0 */12 * * *", "Pacific/Apia", "2011-12-29T12:00Z", ["12-29 12:00-1000", "12-31 00:00+1400", "12-31 12:00+1400"]),
    "Kiritimati, ahead of everybody": ("0 0 1 1 *", "Pacific/Kiritimati", "2026-12-30T00:00Z", ["01-01 00:00+1400"]),
    "a change of winter and summer that is the other way round": (
        "30 1 * * *", "Europe/Dublin", "2026-10-24T12:00Z", ["10-25 01:30+0100", "10-26 01:30+0000"]),
    "a leap day": ("0 0 29 2 *", "UTC", "2026-01-01T00:00Z", ["02-29 00:00+0000", "02-29 00:00+0000"]),
    "the last day of the month": ("0 0 L * *", "UTC", "2026-01-31T12:00Z", ["02-28 00:00+0000", "03-31 00:00+0000"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_clocks_that_change(case: str) -> None:
    cron, tz, start, expected = CASES[case]
    assert moments(cron, tz, start, len(expected)) == expected


@pytest.mark.parametrize("case", CASES)
def test_it_does_not_matter_from_where_one_counts(case: str) -> None:
    """A leader that starts at any moment finds the ticks that another one found."""
    cron, tz, start, _ = CASES[case]
    it, begin = Cron(cron, zone(tz)), datetime.fromisoformat(start)
    found = next_times(it, begin, 8)
    assert all(a < b for a, b in pairwise(found))
    for n in range(40):
        moment = begin + n * timedelta(minutes=77, seconds=3)
        later = [tick for tick in found if tick > moment]
        assert next_times(it, moment, len(later)) == later


def shows(cron: str, wall: datetime) -> bool:
    """Does the wall clock match? Fields are numbers, lists, ranges and steps; days of the week are not asked."""

    def match(field: str, value: int, low: int, high: int) -> bool:
        for part in field.split(","):
            body, _, step = part.partition("/")
            first, _, last = (f"{low}-{high}" if body == "*" else body).partition("-")
            if value in range(int(first), int(last or first) + 1, int(step or 1)):
                return True
        return False

    minute, hour, day, month, _ = cron.split()
    return (
        wall.second == 0
        and match(minute, wall.minute, 0, 59)
        and match(hour, wall.hour, 0, 23)
        and match(day, wall.day, 1, 31)
        and match(month, wall.month, 1, 12)
    )


ZONES = [
    "Europe/Zurich",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Cairo",
    "America/Havana",
    "Asia/Kolkata",
    "Pacific/Chatham",
]
CHANGES = {
    "Europe/Zurich": ["2026-03-29T01:00", "2026-10-25T01:00"], "America/New_York": ["2026-03-08T07:00", "2026-11-01T06:00"],
    "Australia/Lord_Howe": ["2026-04-04T15:00", "2026-10-03T15:30"], "Africa/Cairo": ["2026-04-23T22:00", "2026-10-29T21:00"],
    "America/Havana": ["2026-03-08T05:00", "2026-11-01T05:00"], "Asia/Kolkata": ["2026-03-29T00:00"],
    "Pacific/Chatham": ["2026-04-04T14:00", "2026-09-26T14:00"],
}  # fmt: skip
minutes = st.sampled_from(["*", "*/7", "*/30", "0", "15", "0,45", "10-20", "*/15"])
hours = st.sampled_from(["*", "*/2", "0", "1", "2", "1-3", "0,23", "*/6"])


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_the_rule_minute_by_minute(data: st.DataObject) -> None:
    """Against a walk through every minute of two days around a change of the clock."""
    tz = data.draw(st.sampled_from(ZONES))
    change = datetime.fromisoformat(data.draw(st.sampled_from(CHANGES[tz]))).replace(tzinfo=UTC)
    cron = f"{data.draw(minutes)} {data.draw(hours)} * * *"
    it, here = Cron(cron, zone(tz)), zone(tz)
    start, end = change - timedelta(hours=26), change + timedelta(hours=26)
    every = [start + timedelta(minutes=n) for n in range(1, 52 * 60 + 1)]
    walls = [moment.astimezone(here).replace(tzinfo=None) for moment in every]
    if it.is_fixed:
        expected = set()
        seen: set[datetime] = {start.astimezone(here).replace(tzinfo=None)}
        before = start.astimezone(here).replace(tzinfo=None)
        for moment, wall in zip(every, walls, strict=True):
            jumped = [before + timedelta(minutes=n) for n in range(1, int((wall - before).total_seconds() // 60))]
            if any(shows(cron, one) for one in jumped) or (shows(cron, wall) and wall not in seen):
                expected.add(moment)
            seen.add(wall)
            before = wall
    else:
        expected = {moment for moment, wall in zip(every, walls, strict=True) if shows(cron, wall)}
    found = list(takewhile(lambda tick: tick <= end, it.after(start)))
    assert set(found) == expected and len(found) == len(expected)


def test_intervals_are_absolute_time() -> None:
    anchor = datetime(2026, 3, 28, 12, tzinfo=UTC)
    it = Every(timedelta(hours=6), anchor)
    assert next_times(it, anchor, 3) == [anchor + n * timedelta(hours=6) for n in (1, 2, 3)]
    assert next_times(it, anchor - timedelta(days=9), 1) == [anchor + timedelta(hours=6)]
    assert next_times(it, anchor + timedelta(hours=6), 1) == [anchor + timedelta(hours=12)]


def test_a_month_of_downtime_is_looked_at_in_no_time() -> None:
    """2.6 million ticks: the newest hundred, and a word about the rest."""
    begin, now = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    found = due(Cron("* * * * * *", UTC), begin, now)
    assert len(found.ticks) == MOST and found.ticks[-1] == now
    assert (found.first_missed, found.missed, found.next) == (begin + timedelta(seconds=1), None, now + timedelta(seconds=1))
    few = due(Cron("0 * * * *", UTC), begin, begin + timedelta(hours=150, minutes=1))
    assert (len(few.ticks), few.missed, few.first_missed) == (100, 50, begin + timedelta(hours=1))
    none = due(Cron("0 0 29 2 *", UTC), begin, now)
    assert (none.ticks, none.first_missed, none.next) == ([], None, datetime(2028, 2, 29, tzinfo=UTC))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 4000), st.sampled_from(["* * * * *", "*/7 * * * * *", "0 3 * * *", "30 1-3 * * 0"]), st.sampled_from(ZONES))
def test_due_is_every_tick_since_the_last(gap: int, cron: str, tz: str) -> None:
    it, last = Cron(cron, zone(tz)), datetime(2026, 3, 8, tzinfo=UTC)
    now = last + timedelta(seconds=gap * 7)
    every = list(takewhile(lambda tick: tick <= now, it.after(last)))
    found = due(it, last, now)
    assert found.ticks == every[-MOST:]
    older = every[:-MOST]
    assert found.first_missed == (older[0] if older else None)
    assert found.missed == len(older)


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("", "got 0 in ''"),
        ("* * * * * * *", "got 7"),
        ("60 * * * *", "the minute field '60' of '60 * * * *' is not valid; expected 0-59"),
        ("* 24 * * *", "the hour field '24'"),
        ("* * 0 * *", "the day-of-month field '0'"),
        ("* * * 13 *", "the month field '13'"),
        ("* * * * 8", "the day-of-week field '8'"),
        ("* * * * MON#6", "the day-of-week field 'MON#6'"),
        ("60 * * * * *", "the second field '60'"),
        ("*/0 * * * *", "the minute field '*/0'"),
        ("a b c d e", "the minute field 'a'"),
        ("0 0 31 2 *", "'0 0 31 2 *'"),
        (5, "got 5"),
    ],
)
def test_a_cron_that_is_none(cron: object, said: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        check_cron(cron)
    assert said in str(caught.value)


def test_a_cron_is_kept_as_it_is_but_for_spaces() -> None:
    assert check_cron("  0   3 * * MON-FRI ") == "0 3 * * MON-FRI"
