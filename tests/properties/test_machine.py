"""The machine, driven by Hypothesis; and that it notices bugs that are planted in the engine."""

from __future__ import annotations

import re

import pytest

from tests.properties.approving import Approving
from tests.properties.driving import CHAOS, MARKS, Bug, drive, must_notice
from tests.properties.machine import Machine
from tests.sql.conftest import Another
from tests.sql.engine import Engine

pytestmark = MARKS


@pytest.fixture
def sessions(another: Another) -> list[Engine]:
    """Three connections: calls of one worker always come on the same one."""
    return [another() for _ in range(3)]


@pytest.mark.timeout(3600 if CHAOS else 120)
def test_the_engine_agrees_with_its_model(sessions: list[Engine]) -> None:
    drive(Machine, sessions)


@pytest.mark.timeout(3600 if CHAOS else 120)
def test_approval_agrees_with_its_model(sessions: list[Engine]) -> None:
    drive(Approving, sessions)


GUARD = re.compile(r"\s+and \w\.(attempt|claim_id) = \w\.(attempt|claim_id)")
BUGS: dict[str, Bug] = {
    "finishes are not fenced": ("completed", GUARD, ""),
    "settles are not fenced": ("settle", GUARD, ""),
    "writes are not fenced": ("held", GUARD, ""),
    "slots are not counted": ("free_slots", "coalesce(sum(u.used), 0)", "0"),
    "a cancel is forgotten": ("settle", "h.stop_kind is not null and", "false and"),
    "a redrive forgets the attempts": ("move_back", "'status', 'run_at'", "'status', 'attempt', 'run_at'"),
    "a canary is not waited for": ("carry_redrive", "if v_end is distinct from 'completed' then", "if false then"),
    "holds are not looked at": ("free_slots", "p_lane.name and lanework.holds(f)", "p_lane.name and false"),
    "a drained worker claims": ("claim", "'{active}'", "'{active,draining}'"),
    "a priority is not stored": ("carry_priority", "set rank = -", "set rank = "),
    "answers stay lost": ("beat", "where a.ids is not null", "where false"),
}


APPROVAL_BUGS: dict[str, Bug] = {
    "an approval of anything": ("give_approval", "p_hash is distinct from v_hash", "false"),
    "an edit that keeps its state": ("edit", "perform lanework.gate(array[p_id]);", ""),
    "an estimate that goes on alone": ("estimated", "if v_live then", "if false then"),
    "an approval never expires": ("tend_approvals", "q.expires_at <= v_now", "false"),
}


@pytest.mark.pg(18)
@pytest.mark.chaos  # each looks for its bug for up to half a minute
@pytest.mark.parametrize("bug", APPROVAL_BUGS.values(), ids=APPROVAL_BUGS)
def test_the_machine_notices_in_approval(sessions: list[Engine], bug: Bug) -> None:
    must_notice(Approving, sessions, bug)


@pytest.mark.pg(18)
@pytest.mark.chaos  # each looks for its bug for up to half a minute
@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_the_machine_notices(sessions: list[Engine], bug: Bug) -> None:
    must_notice(Machine, sessions, bug)
