"""Ticks as a property: however leaders look, wait, fire what is old news, and clocks move, every tick is accounted for once, as its
policy says."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lanework import _ticks
from tests.sql.conftest import Another
from tests.sql.engine import Engine
from tests.sql.proof import move, planted, wipe

CHAOS = os.environ.get("LANEWORK_CHAOS") == "1"
HOW = settings(
    max_examples=500 if CHAOS else 25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[phase for phase in Phase if phase is not Phase.shrink],
)
HUNT = settings(HOW, max_examples=200, derandomize=True, database=None, phases=[Phase.generate], print_blob=False)
LATE = timedelta(seconds=60)
leader = st.integers(0, 2)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([1, 7, 20, 45, 70, 200, 4000])),
        st.tuples(st.just("look"), leader),
        st.tuples(st.just("fire"), leader),
        st.tuples(st.just("both"), leader),
        st.tuples(st.just("run"), leader),
    ),
    min_size=5,
    max_size=30,
)
times = st.sampled_from([{"every_s": 30}, {"cron": "*/20 * * * * *"}, {"cron": "* * * * *", "tz": "Europe/Zurich"}])
policies = st.sampled_from(["skip", "one", "all"])


class Play:
    """One schedule, three leaders. Each keeps what it saw when it last looked, and may act on it much later."""

    def __init__(self, sessions: list[Engine], when: dict[str, Any], policy: str) -> None:
        self.sessions, self.policy = sessions, policy
        self.looks: dict[int, dict[str, Any]] = {}
        self.submitted: set[datetime] = set()
        wipe(sessions[0], frozen=True)
        sessions[0].type("t")
        given = {"type": "t", "overlap": "queue", "misfire": policy, "misfire_after_s": LATE.total_seconds(), **when}
        sessions[0].rows("select * from lanework.set_schedule('s', %s, 'me', true)", json.dumps(given))
        row = self.row
        self.start = row["last_tick"].astimezone(UTC)
        self.rhythm = _ticks.rhythm(cron=row["cron"], every_s=row["every_s"], tz=row["tz"], anchor=row["anchor"])

    @property
    def row(self) -> dict[str, Any]:
        return self.sessions[0].rows("select *, lanework.now() as now from lanework.schedules")[0]

    def step(self, act: str, value: int) -> None:
        match act:
            case "wait":
                move(self.sessions[0], seconds=value)
            case "look":
                self.looks[value] = self.row
            case "fire" if value in self.looks:
                self.fire(value)
            case "both":
                self.looks[value] = self.row
                self.fire(value)
            case "run":
                self.sessions[value].rows("select * from lanework.run_schedule('s', 'me', false)")

    def fire(self, leader: int) -> None:
        seen, before = self.looks[leader], self.ticks()
        found = _ticks.due(self.rhythm, seen["last_tick"], seen["now"])
        self.sessions[leader].rows(
            "select * from lanework.fire('s', %s, %s::timestamptz[], %s, %s, %s)",
            seen["revision"], found.ticks, found.first_missed, found.missed, found.next)  # fmt: skip
        new = {tick: row for tick, row in self.ticks().items() if tick not in before}
        self.judge(new, self.row["now"].astimezone(UTC))

    def ticks(self) -> dict[datetime, dict[str, Any]]:
        rows = self.sessions[0].rows("select * from lanework.ticks where asked_by is null order by tick")
        return {row["tick"].astimezone(UTC): row for row in rows}

    def judge(self, new: dict[datetime, dict[str, Any]], now: datetime) -> None:
        """What one round decided, by the policy."""
        alone = {tick: row for tick, row in new.items() if row["until"] is None}
        late = [tick for tick in new if tick < now - LATE]
        match self.policy:
            case "skip":
                expected = {tick for tick in alone if tick >= now - LATE}
            case "one":
                expected = ({max(alone)} if late else set(alone)) if alone else set()
            case _:
                expected = set(alone)
        found = {tick for tick, row in alone.items() if row["outcome"] == "submitted"}
        assert found == expected, (self.policy, now, new)

    def close(self) -> None:
        """Every tick up to the last one decided has exactly one place, and every job its own tick."""
        last, rows = self.row["last_tick"].astimezone(UTC), self.ticks()
        ranges = [(tick, row["until"].astimezone(UTC)) for tick, row in rows.items() if row["until"]]
        alone = {tick for tick, row in rows.items() if not row["until"]}
        real = list(takewhile(lambda tick: tick <= last, self.rhythm.after(self.start)))
        for tick in real:
            assert (tick in alone) + sum(first <= tick < end for first, end in ranges) == 1, tick
        assert alone <= set(real)
        made = self.sessions[0].rows("select count(*) as jobs, count(distinct id) as ids from lanework.jobs")[0]["jobs"]
        assert made == self.sessions[0].one("select count(*) from lanework.ticks where outcome = 'submitted'")


def drive(sessions: list[Engine], how: settings) -> None:
    @how
    @given(times, policies, steps)
    def play(when: dict[str, Any], policy: str, acts: list[tuple[str, int]]) -> None:
        game = Play(sessions, when, policy)
        for act, value in acts:
            game.step(act, value)
        game.step("both", 0)
        game.close()

    play()


@pytest.fixture
def sessions(another: Another) -> list[Engine]:
    return [another() for _ in range(3)]


@pytest.mark.timeout(3600 if CHAOS else 120)
def test_every_tick_is_accounted_for(sessions: list[Engine]) -> None:
    drive(sessions, HOW)
    wipe(sessions[0])


BUGS = {
    "the cursor is not looked at": ("fire", "x > s.last_tick and x <= v_now", "x <= v_now"),
    "late ticks run whatever the policy": ("fire", "when 'skip' then", "when 'never' then"),
    "the rest is forgotten": ("fire", "if p_first_missed > s.last_tick", "if false"),
}


@pytest.mark.pg(18)
@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_the_property_notices(sessions: list[Engine], bug: tuple[str, str, str]) -> None:
    with planted(sessions[0], *bug), pytest.raises((AssertionError, BaseExceptionGroup)):
        drive(sessions, HUNT)
    wipe(sessions[0])
