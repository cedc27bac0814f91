"""A test counts once a planted bug has turned it red. Each row plants one, in the processes (`plants.py`) or in a function of the
test's database, and runs the test that must notice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from tests.processes import test_busy as busy
from tests.processes import test_endings as endings
from tests.processes import test_kills as kills
from tests.processes import test_lanes as lanes
from tests.processes import test_operating as operating
from tests.processes import test_orphans as orphans
from tests.processes import test_poison as poison
from tests.processes import test_starting as starting
from tests.processes import test_stopping as stopping
from tests.processes import test_zombies as zombies
from tests.processes.harness import Site
from tests.sql.proof import planted

pytestmark = [pytest.mark.processes, pytest.mark.chaos, pytest.mark.timeout(300)]

FENCE = " and j.attempt = u.attempt and j.claim_id = u.claim_id"


class Mutation(NamedTuple):
    """In the text of a function of the database."""

    function: str
    right: str
    wrong: str


class Bug(NamedTuple):
    """`plant` names one for the processes."""

    what: str
    plant: str
    mutations: list[Mutation]
    test: Callable[[Site], None]


BUGS = [
    Bug("P4: the guard does not see its worker die", "blind_guard", [], kills.test_a_dead_worker_is_noticed_at_once),
    Bug("P4: silence means nothing", "",
        [Mutation("reap", "w.seen_at < v_now - w.ttl", "false")], kills.test_silence_is_noticed_at_expiry),
    Bug("P4: the worker does not see its guard die", "deaf_worker", [], kills.test_a_worker_outlives_its_guard),
    Bug("P4: a claim stays known though its answer was lost", "claims_stay_open", [], kills.test_lost_answers),
    Bug("P4: a finish whose answer was lost is not read back", "no_read_back", [], kills.test_lost_answers),
    Bug("P4: some are not given back", "",
        [Mutation("give_back", "and j.status = 'running'", "and j.status = 'running' and j.id % 3 > 0")],
        kills.test_random_kills),
    Bug("P4: two bodies after a kill", "no_orphans_ended", [], orphans.test_orphans_end_before_the_next_attempt),
    Bug("P5: finishes are not fenced", "",
        [Mutation("completed", " and t.attempt = u.attempt and t.claim_id = u.claim_id", ""),
         Mutation("completed", " and j.attempt = h.attempt and j.claim_id = h.claim_id", ""),
         Mutation("living", "return found", "return true")],
        zombies.test_zombies_write_nothing),
    Bug("P5: progress, log and checkpoint are not fenced", "", [Mutation("held", FENCE, "")], zombies.test_zombies_write_nothing),
    Bug("P5: a stopped worker is beaten for", "beats_for_the_stopped", [], zombies.test_zombies_write_nothing),
    Bug("P5: a companion that dies is not missed", "deaf_worker", [], zombies.test_a_companion_that_dies_is_replaced),
    Bug("P9: the heartbeat is on the event loop", "loop_beats", [], busy.test_a_gil_held_past_the_expiry),
    Bug("P10: others' use is not counted", "",
        [Mutation("free_slots", "coalesce(sum(u.used), 0)", "coalesce(max(0), 0)")], lanes.test_slots_are_exact),
    Bug("P11: an async body is waited for", "no_give_up", [], endings.test_bodies_that_do_not_end_when_asked),
    Bug("P11: a thread is waited for", "thread_is_waited_for", [], endings.test_bodies_that_do_not_end_when_asked),
    Bug("P11: a process is asked and not killed", "no_kill", [], endings.test_bodies_that_do_not_end_when_asked),
    Bug("P11: a slot is free before its body has ended", "free_slots", [], endings.test_bodies_that_do_not_end_when_asked),
    Bug("P11: nobody stands in for a blocked loop", "no_stand_in", [], endings.test_deadlines_while_the_loop_is_blocked),
    Bug("P11: nobody sweeps", "no_sweep", [], endings.test_stale_and_too_old),
    Bug("P11: nobody stands in for a loop in C", "no_stand_in", [],
        lambda site: operating.test_a_cancel_of_a_body_that_loops_in_c(site, "busy")),
    Bug("P11: children go on", "", [Mutation("freed", "d.status = 'cancelled'", "false")],
        operating.test_children_end_with_their_parent),
    Bug("an act on many jobs does not know how far it is", "",
        [Mutation("carry_operation", "set position = v_place", "set position = v_place + 500")],
        operating.test_an_act_on_many_jobs_is_carried_on),
    Bug("a raise is not said to lie behind", "", [Mutation("hint_behind", "'<' || p_lane", "p_lane")],
        operating.test_a_raised_job_is_next),
    Bug("a drained worker claims", "", [Mutation("claim", "'{active}'", "'{active,draining}'")],
        operating.test_a_worker_is_drained_and_resumed),
    Bug("a freeze waits for itself", "", [Mutation("busy_lanes", "j.id = p_job and", "false and")],
        lambda site: operating.test_a_job_freezes_lanes_its_own_among_them(site, "async")),
    Bug("a freeze does not wait for bodies that were cancelled", "",
        [Mutation("busy_lanes", "(select sum(u.used) from lanework.lane_use u where u.lane_id = l.id)",
                  "(select count(*) from lanework.jobs r where r.status = 'running' and r.lane_id = l.id)")],
        lambda site: operating.test_a_job_freezes_lanes_its_own_among_them(site, "async")),
    Bug("a hold outlives its run", "", [Mutation("holds", "and j.claim_id = p_freeze.claim_id and j.status = 'running'", "")],
        operating.test_a_freeze_ends_with_the_worker_of_its_job),
    Bug("P12: no drain", "no_drain", [], stopping.test_a_stop),
    Bug("P12: no drain on Ctrl-C", "no_drain", [], stopping.test_a_ctrl_c_reaches_everybody),
    Bug("P12: claims while it drains", "claims_while_draining",
        [Mutation("claim", "'{active}'", "'{active,draining}'")], stopping.test_a_stop),
    Bug("P12: a thread's job is given back while it runs", "releases_threads", [], stopping.test_a_stop),
    Bug("P12: a claim that meets the drain counts as death", "",
        [Mutation("claim", "if lanework.living(p_worker, '{draining}') then return; end if;", "")],
        stopping.test_rolling_restarts_under_load),
    Bug("P12: the last finishes are not waited for", "hasty_idle", [], stopping.test_rolling_restarts_under_load),
    Bug("P13: all jobs of a dead process are to blame", "all_to_blame", [], poison.test_poison_among_good_jobs),
    Bug("P13: losses are not counted", "", [Mutation("settle", "h.new_losses >= 3", "false")], poison.test_poison_among_good_jobs),
    Bug("P20: a worker's clock stamps its beats", "own_clock", [], starting.test_clocks_of_workers_do_not_matter),
    Bug("P31: a full lane leaves nothing to others", "no_share", [], lanes.test_a_stuck_lane_delays_no_other),
    Bug("P32: types in any order", "",
        [Mutation("claim", "order by h.turn, h.rank, h.created_at, h.id offset 0", "order by h.id offset 0")],
        lanes.test_one_slot_keeps_the_order),
    Bug("P32: jobs of a type in any order", "",
        [Mutation("claim", "order by j.turn, j.rank, j.created_at, j.id limit v_free", "order by j.rank, j.id desc limit v_free")],
        lanes.test_one_slot_keeps_the_order),
    Bug("P32: a claim never looks behind its position", "only_positions", [], lanes.test_one_slot_keeps_the_order),
    Bug("grandchildren are left alive", "only_leaders_ended", [], orphans.test_orphans_end_before_the_next_attempt),
    Bug("a failed start hook is only mentioned", "hasty_start", [], starting.test_a_start_hook_that_fails),
    Bug("a dead service stays dead", "services_stay_dead", [], starting.test_a_service_that_dies_is_restarted),
]  # fmt: skip


@pytest.mark.parametrize("bug", BUGS, ids=[bug.what for bug in BUGS])
def test_a_planted_bug_is_noticed(site: Site, bug: Bug) -> None:
    site.patience, site.longest, site.judged = 0.6, 100.0, False  # what does not come is waited for once, within the limit above
    site.plant = bug.plant
    with ExitStack() as stack:
        for mutation in bug.mutations:
            stack.enter_context(planted(site.sql, *mutation))
        with pytest.raises(AssertionError) as red:
            bug.test(site)
    print(bug.what, "→", str(red.value).splitlines()[:1], red.traceback[-1])
