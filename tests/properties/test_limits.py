"""The machine of permits and budgets; and that it notices bugs that are planted in the engine."""

from __future__ import annotations

import psycopg
import pytest

from tests.properties.driving import CHAOS, MARKS, drive, must_notice
from tests.properties.limits_machine import LimitsMachine
from tests.sql.conftest import Another
from tests.sql.engine import Engine

pytestmark = MARKS


@pytest.fixture
def connections(another: Another) -> list[Engine]:
    return [another()]


@pytest.mark.timeout(3600 if CHAOS else 120)
def test_permits_and_budgets_keep_their_rules(connections: list[Engine]) -> None:
    drive(LimitsMachine, connections)


BUGS = {
    "claims' holds are not counted": ("permit_left", "u.worker_id <> p_worker or u.source <> p_source", "u.worker_id <> p_worker"),
    "tokens are not counted": ("permit_left", "h.expires_at > v_now", "false"),
    "an expired token is renewed": ("renew_permits", "and h.expires_at > v_now", ""),
    "the dead take permits": ("take_permits", "not lanework.living(p_worker, '{active,draining}')", "false"),
    "a claim takes none": ("take_declared", "s.held + s.got", "s.held"),
    "the dead keep their permits": ("free_permits", "where u.worker_id = p_worker returning", "where false returning"),
    "the dead's money comes back": (
        "settle_lost_reservations", "lanework.settle_reservation(i, null)", "lanework.release_reservation(i)"),
    "reserved is not counted": ("budget_left", "s.spent + s.reserved", "s.spent"),
}  # fmt: skip


@pytest.mark.pg(18)
@pytest.mark.chaos  # each looks for its bug for up to half a minute
@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_the_machine_notices(connections: list[Engine], bug: tuple[str, str, str]) -> None:
    must_notice(LimitsMachine, connections, bug, psycopg.Error)
