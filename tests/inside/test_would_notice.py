"""A test counts once a planted bug has turned it red. Each row plants one and runs the test that must notice.

In a function of the database where the bug is one of SQL; in the processes (`tests/processes/plants`) where they are killed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import psycopg
import pytest

from lanework import _steps
from lanework.errors import LaneworkError
from tests.inside import test_children as children
from tests.inside import test_killed as killed
from tests.inside import test_steps as steps
from tests.inside.house import House, Inside
from tests.processes.test_would_notice import Mutation
from tests.sql.proof import planted

KNOWN = "where not exists (select from lanework.children c where c.parent_id = p_id and c.name = u.name)"
ACTIVE = "('approved', 'running', 'scheduled')"


class Bug(NamedTuple):
    what: str
    mutations: list[Mutation]
    test: Callable[[House], None]


BUGS = [
    Bug("a child has no owner", [Mutation("submit_children", "p.owner, g.payload", "null, g.payload")],
        children.test_what_children_inherit),
    Bug("a child has its type's priority", [Mutation("submit_children", "p.rank)", "-t.priority)")],
        children.test_what_children_inherit),
    Bug("a child may take as long as it likes", [Mutation("submit_children", "least(p.deadline, v_now", "least(null, v_now")],
        children.test_what_children_inherit),
    Bug("a name is used again",
        [Mutation("submit_children", KNOWN, ""),
         Mutation("submit_children", "on conflict do nothing",
                  "on conflict (parent_id, name) do update set child_id = excluded.child_id")],
        lambda house: children.test_a_child_is_submitted_once_per_name(house, "thread")),
    Bug("a parent that waits stays in its slot", [Mutation("settle", "then 'blocked'", "then 'approved'")],
        children.test_a_parked_parent_has_no_slot),
]  # fmt: skip


@pytest.mark.chaos
@pytest.mark.parametrize("bug", BUGS, ids=[bug.what for bug in BUGS])
def test_a_planted_bug_is_noticed(house: House, bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "patience", 0.1)
    with ExitStack() as stack:
        for mutation in bug.mutations:
            stack.enter_context(planted(house.sql, *mutation))
        with pytest.raises((AssertionError, LaneworkError, psycopg.Error)) as red:
            bug.test(house)
    print(bug.what, "→", str(red.value).splitlines()[:1])
    for row in house.sql.rows("select id from lanework.jobs order by id desc"):
        house.app.cancel(row["id"])  # what the test left behind holds up nobody
    house.until(lambda: house.sql.one("select count(*) from lanework.jobs") == 0, "the rest to end", 600)


def test_names_without_a_limit_are_noticed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_steps, "MOST_KEY", 10_000)
    with pytest.raises(AssertionError):
        steps.test_names_are_checked(house, "x" * 201)


class Deadly(NamedTuple):
    """`plant` names a bug of the processes."""

    what: str
    plant: str
    mutations: list[Mutation]
    test: Callable[[Inside], None]


DEADLY = [
    Deadly("a session goes on while the job of a killed worker waits", "",
           [Mutation("promote_sessions", ACTIVE, "('running')"), Mutation("idle_sessions", ACTIVE, "('running')")],
           killed.test_order_of_sessions_over_killed_workers),
    Deadly("the death of a worker wakes the parents", "",
           [Mutation("give_back", "if v_ids is not null then", "update lanework.jobs p set status = 'approved', blocked_on = null"
                     " where p.blocked_on = 'children'; if v_ids is not null then")],
           killed.test_a_worker_is_killed_while_a_parent_is_parked),
    Deadly("a parent is woken by nobody", "",
           [Mutation("wake_parents", "set status = 'approved', blocked_on = null", "set rank = j.rank")],
           killed.test_a_worker_is_killed_while_a_parent_is_parked),
    Deadly("children without hooks", "no_child_hooks", [], killed.test_a_start_hook_that_fails_in_a_child_process),
    Deadly("a failed hook of a child is ignored", "hasty_children", [], killed.test_a_start_hook_that_fails_in_a_child_process),
    Deadly("hooks after the first job", "late_child_hooks", [], killed.test_a_start_hook_that_fails_in_a_child_process),
]  # fmt: skip


@pytest.mark.processes
@pytest.mark.chaos
@pytest.mark.timeout(300)
@pytest.mark.parametrize("bug", DEADLY, ids=[bug.what for bug in DEADLY])
def test_a_planted_bug_is_noticed_among_kills(site: Inside, bug: Deadly) -> None:
    site.patience, site.judged, site.plant = 0.3, False, bug.plant
    if bug.mutations and bug.mutations[0].function == "promote_sessions":
        site.sql.rows("drop index lanework.jobs_session_active")  # the last guard would hide it
    with ExitStack() as stack:
        for mutation in bug.mutations:
            stack.enter_context(planted(site.sql, *mutation))
        with pytest.raises(AssertionError) as red:
            bug.test(site)
    print(bug.what, "→", str(red.value).splitlines()[:1], red.traceback[-1])
