"""The machine of steps, children, sessions and blocked jobs; and that it notices bugs that are planted in the engine."""

from __future__ import annotations

import psycopg
import pytest

from tests.properties.driving import CHAOS, MARKS, drive, must_notice
from tests.properties.inside_machine import InsideMachine
from tests.sql.conftest import Another
from tests.sql.engine import Engine

pytestmark = MARKS


@pytest.fixture
def connections(another: Another) -> list[Engine]:
    return [another(), another()]


@pytest.mark.timeout(3600 if CHAOS else 120)
def test_steps_children_and_sessions_keep_their_rules(connections: list[Engine]) -> None:
    drive(InsideMachine, connections)


FOUND = "if not found then return false; end if;"
LAST = "not exists (select from lanework.jobs c where c.parent = j.id offset 0)"
ACTIVE = "(a.status in ('approved', 'running', 'scheduled') or a.blocked_on = 'children') offset 0"
BUGS = {
    "steps are not fenced": ("save_step", FOUND, ""),
    "a step is overwritten": ("save_step", "key) do nothing", "key) do update set result = excluded.result"),
    "children are not fenced": ("submit_children", "if not found then", "if false then"),
    "children forget their parent": ("submit_children", "p_id, p.depth + 1", "null, p.depth + 1"),
    "a parent wakes too early": ("wake_parents", LAST, "true"),
    "a parent is never woken": ("wake_parents", LAST, "false"),
    "two of a session at once": ("promote_sessions", ACTIVE, "false offset 0"),
    "a waiting parent gives up its session": ("promote_sessions", "or a.blocked_on = 'children'", ""),
    "a session runs backwards": ("promote_sessions", "(j.session, j.id) > (x.s, 0)\n            order by j.session, j.id", (
        "j.session = x.s\n            order by j.session, j.id desc")),
    "missed sessions are not swept": ("idle_sessions", "return v_idle;", "return '{}';"),
    "a cancel does not flow down": ("freed", "d.status = 'cancelled'", "false"),
    "a continued job has all steps": ("inherit_steps", "s.seq < v_seq", "true"),
}  # fmt: skip


@pytest.mark.pg(18)
@pytest.mark.chaos  # each looks for its bug for up to half a minute
@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_the_machine_notices(connections: list[Engine], bug: tuple[str, str, str]) -> None:
    must_notice(InsideMachine, connections, bug, psycopg.Error)
