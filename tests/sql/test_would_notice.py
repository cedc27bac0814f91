"""A test counts once a planted bug has turned it red. Each row plants one in a function of the engine and runs the test that must
notice; the function is put back afterwards."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import psycopg
import pytest

from tests.sql import (
    desk,
    test_approval,
    test_approval_meetings,
    test_audited,
    test_budgets,
    test_claim,
    test_dead,
    test_drains,
    test_error_rules,
    test_estimates,
    test_events,
    test_fair,
    test_final,
    test_finish,
    test_freezes,
    test_maintenance,
    test_metrics,
    test_operations,
    test_outbox,
    test_permits,
    test_priorities,
    test_rates,
    test_running,
    test_schedules,
    test_seals,
    test_sessions,
    test_waiting,
    test_workers,
)
from tests.sql import test_interleavings as meet
from tests.sql.conftest import Another
from tests.sql.crowd import Crowd, Worker
from tests.sql.engine import Engine
from tests.sql.operations import lanes
from tests.sql.proof import complaints, planted, wipe
from tests.sql.timetable import House

UNFENCED = re.compile(r"\s+and \w\.(attempt|claim_id) = \w\.(attempt|claim_id)| and \w\.status = 'running'")
CLAIM_ID, ATTEMPT = (re.compile(rf"\s+and \w\.{part} = \w\.{part}") for part in ("claim_id", "attempt"))


class Bug(NamedTuple):
    what: str
    function: str
    right: str | re.Pattern[str]
    wrong: str
    test: Callable[[Engine, Another], object]


def fence(part: str) -> Callable[[Engine, Another], object]:
    return lambda engine, _: test_finish.test_every_part_of_the_fence_counts(engine, test_finish.claimed(engine), part)


def scene(test: Callable[[meet.Scene], object]) -> Callable[[Engine, Another], object]:
    return lambda engine, another: test(meet.Scene(engine, another))


def wide(test: Callable[[meet.Scene], object]) -> Callable[[Engine, Another], object]:
    return lambda engine, another: test(meet.Scene(engine, another, None))


def alone(test: Callable[[Engine], object]) -> Callable[[Engine, Another], object]:
    return lambda engine, _: test(engine)


def scheduled(test: Callable[..., object], *more: object) -> Callable[[Engine, Another], object]:
    return lambda engine, _: test(House(engine), *more)


def finished(test: Callable[..., object], *more: object) -> Callable[[Engine, Another], object]:
    return lambda engine, _: test(engine, test_finish.claimed(engine), *more)


def batches(engine: Engine, another: Another, verb: str) -> None:
    """In a table of some size: of a tiny one the plan reads all rows, in their own order."""
    kind = engine.type("crowd")
    engine.rows("insert into lanework.jobs (type_id, status) select %s, 'approved' from generate_series(1, 2000)", kind)
    engine.rows("analyze lanework.jobs")
    meet.test_batches_lock_in_the_order_of_ids(meet.Scene(engine, another, None), verb)


def acts(test: Callable[..., object]) -> Callable[[Engine, Another], object]:
    """For tests of what operators do, with or without further connections."""
    wants_more = "another" in test.__annotations__
    return lambda engine, another: test(engine, *([another] if wants_more else []), lanes(engine))


def approved(test: Callable[..., object], *more: object) -> Callable[[Engine, Another], object]:
    return lambda engine, _: test(desk.Desk(engine), *more)


def met(state: str, one: str, two: str) -> Callable[[Engine, Another], object]:
    return lambda engine, another: test_approval_meetings.meet(engine, another, (state, one, two))


BUGS = [
    Bug("finish without claim_id", "completed", CLAIM_ID, "", fence("claim_id")),
    Bug("finish without attempt", "completed", ATTEMPT, "", fence("attempt")),
    Bug("settle without claim_id", "settle", CLAIM_ID, "", fence("claim_id")),
    Bug("settle without attempt", "settle", ATTEMPT, "", fence("attempt")),
    Bug("writes without claim_id", "held", CLAIM_ID, "", fence("claim_id")),
    Bug("writes without attempt", "held", ATTEMPT, "", fence("attempt")),
    Bug("writes joined by id alone", "write_progress", " and held.attempt = u.attempt", "",
        lambda engine, _: test_running.test_a_batch_with_both_generations_writes_only_the_current(
            engine, test_running.two_generations(engine), (1, 0))),
    Bug("no lane lock", "try_lane_lock", "not pg_try_advisory_xact_lock(1279350095, p_lane)", "false",
        scene(meet.test_a_slot_count_is_never_stale)),
    Bug("slots counted before the lock only", "claim", "select l.name, lanework.free_slots(l, p_worker, p_used, p_want)",
        "select l.name, p_want", scene(meet.test_a_slot_count_is_never_stale)),
    Bug("others' use not counted", "free_slots", "coalesce(sum(u.used), 0)", "0",
        alone(test_claim.test_free_slots_of_a_shared_lane)),
    Bug("repeatable read allowed", "claim", "<> 'read committed'", "= 'nothing'",
        lambda engine, another: meet.test_repeatable_read_is_refused(meet.Scene(engine, another), another)),
    Bug("no lock on the worker", "living", "for key share", "",
        scene(meet.test_a_claim_in_flight_when_its_worker_is_declared_dead)),
    Bug("worker's state not looked at", "living", "and w.state = any (p_states)", "",
        scene(meet.test_a_claim_that_comes_after_the_declaration)),
    Bug("a late call overwrites", "use_lane", "u.call <= p_call", "true",
        alone(test_claim.test_a_late_word_about_bodies_sets_nothing)),
    Bug("a type's use not written", "claim", "+ count(*)", "+ 0",
        lambda engine, _: test_claim.test_a_types_own_limit_holds_over_workers(engine, True)),
    Bug("attempt does not rise", "claim", "attempt = j.attempt + 1", "attempt = greatest(j.attempt, 1)",
        alone(test_running.two_generations)),
    Bug("order by id alone", "claim", "order by f.turn, f.rank, f.created_at, f.id limit v_free", "order by f.id limit v_free",
        lambda engine, _: test_claim.test_a_batch_is_a_prefix_of_the_order(engine, 5, 3)),
    Bug("no edge", "claim", "f.step = f.quota and", "false and",
        alone(test_claim.test_a_batch_does_not_overtake_a_type_that_has_more)),
    Bug("one try too many", "settle", "h.new_tries >= h.max_tries", "h.new_tries > h.max_tries",
        finished(test_finish.test_tries_run_out)),
    Bug("a cancel does not win", "settle", "h.stop_kind is not null and", "false and",
        finished(test_finish.test_a_cancel_wins_over_every_way_back, "retry")),
    Bug("a late cancel is forgotten", "settle", "(j.status = 'running' or s.kind = 'cancel')", "j.status = 'running'",
        scene(meet.test_a_cancel_that_comes_while_a_retry_is_under_way)),
    Bug("a zombie erases a cancel", "settle", "(j.status = 'running' or s.kind = 'cancel')", "false",
        finished(test_finish.test_a_superseded_settle_does_not_erase_a_cancel)),
    Bug("cancel does not lock", "stop_job", "for no key update", "",
        scene(meet.test_a_cancel_that_comes_while_a_claim_is_under_way)),
    Bug("finishes lock in any order", "completed", "order by u.id", "order by u.id desc",
        lambda engine, another: batches(engine, another, "completed")),
    Bug("settles lock in any order", "settle", "order by j.id\n        for no key update",
        "order by j.id desc\n        for no key update", lambda engine, another: batches(engine, another, "settle")),
    Bug("a weak fence lock", "held", "for share of j", "for key share of j",
        lambda engine, another: meet.test_whoever_ends_a_claim_waits_for_its_writes(meet.Scene(engine, another), "log")),
    Bug("the reaper waits", "give_back", "skip locked", "", scene(meet.test_a_reaper_does_not_wait_for_an_open_write)),
    Bug("promoters wait", "promote", "skip locked", "", scene(meet.test_two_promoters_and_two_sweepers_share_the_work)),
    Bug("lost answers stay", "beat", "c.no <> all (p_open)", "false",
        alone(test_workers.test_a_beat_gives_back_what_the_worker_does_not_know)),
    Bug("claims not told are taken", "beat", "c.no <= p_told and", "",
        alone(test_workers.test_a_beat_leaves_numbers_it_was_not_told)),
    Bug("the dead keep their slots", "end_worker", "delete from lanework.lane_use u where u.worker_id = p_worker;", "",
        alone(test_workers.test_an_ended_worker_is_told_so_and_leaves_nothing)),
    Bug("a blind reaper", "reap", "me.steady_since < v_now - w.ttl and", "",
        alone(test_workers.test_a_reaper_with_a_gap_of_its_own_declares_nobody_dead)),
    Bug("a beat that waits for the disk", "beat", "'off', true", "'on', true",
        alone(test_workers.test_a_beat_commits_without_waiting_for_the_disk)),
    Bug("two leaders", "lead", "l.until < v_now", "true", alone(test_workers.test_leadership_is_a_lease)),
    Bug("an owner's waiting jobs do not count", "next_turn", "v_last + 1", "v_turn", alone(test_fair.test_owners_take_turns)),
    Bug("the lane's turn stands still", "claim", "set turn = v_turn where", "set turn = t.turn where",
        alone(test_fair.test_a_late_owner_does_not_catch_up)),
    Bug("a delayed job has no turn", "promote", "perform lanework.take_turns(v_ids, v_types);", "",
        alone(test_fair.test_a_delayed_job_takes_its_turn_when_it_is_due)),
    Bug("a plain lane keeps turns", "turn_again", "and t.fair_lane = p_lane", "",
        alone(test_fair.test_a_lane_with_a_queue_becomes_plain)),
    Bug("priority crosses owners", "next_turn", "greatest(v_turn, v_last + 1)", "greatest(v_turn, v_last + 1 + p_rank)",
        lambda engine, _: test_fair.test_priority_orders_the_jobs_of_one_owner_only(engine, tuple(range(-40, 41)))),
    Bug("a retry without its audit row", "retry", re.compile(r"perform lanework\.audit\([^;]*;"), "null;",
        alone(test_dead.test_a_retry_goes_on_where_the_job_was)),
    Bug("a redrive without its audit row", "start_redrive", re.compile(r"perform lanework\.audit\([^;]*;"), "null;",
        alone(test_dead.test_a_canary_goes_first)),
    Bug("a redrive that is not in the book", "move_back", "$5 from gone g", "$5 from gone g where false",
        alone(test_dead.test_a_crash_loop_comes_back_alone_in_a_process)),
    Bug("a redrive loses the attempts", "move_back", "'status', 'run_at'", "'status', 'attempt', 'run_at'",
        alone(test_dead.test_a_retry_goes_on_where_the_job_was)),
    Bug("a redrive loses the deadline's meaning", "move_back", "when g.deadline > $2 then g.deadline", "when true then g.deadline",
        alone(test_dead.test_a_deadline_that_has_passed_is_given_anew)),
    Bug("copies unchecked after a redrive", "move_back", "perform set_config('lanework.moves', '', true);", "",
        alone(test_dead.test_copies_are_still_checked_after_a_retry)),
    Bug("the canary is ignored", "carry_redrive", "if v_end is distinct from 'completed' then", "if false then",
        alone(test_dead.test_a_canary_that_fails_stops_it)),
    Bug("the canary is not waited for", "carry_redrive", "then return 0; end if;\n        select d.status",
        "then null; end if;\n        select d.status", alone(test_dead.test_a_canary_goes_first)),
    Bug("a canary with all its tries", "carry_redrive", "1::smallint", "null::smallint",
        alone(test_dead.test_a_canary_that_fails_stops_it)),
    Bug("what fails again rejoins", "dead_matching", " and f.letter <= $2", " and $2 > 0",
        alone(test_dead.test_what_fails_again_does_not_rejoin)),
    Bug("no rate", "carry_redrive", "v_room := least(", "v_room := greatest(", alone(test_dead.test_a_redrive_flows_at_its_rate)),
    Bug("a note in a transaction of its own", "note_dead_letters", "cross join lanework.notifiers n where n.enabled",
        "cross join lanework.notifiers n where n.enabled and a.finished_at < lanework.now() - interval '1 s'",
        alone(test_outbox.test_a_letter_and_its_note_are_one_transaction)),
    Bug("a letter told twice", "gather_notifications", "where (o.notifier_id, o.fingerprint, o.letter) in",
        "where (o.notifier_id, o.fingerprint, o.letter + 1) in", alone(test_outbox.test_every_letter_is_told_once_and_together)),
    Bug("a message that two send", "take_notification", "x.next_at <= v_now", "true",
        alone(test_outbox.test_a_message_is_tried_with_backoff_and_given_up)),
    Bug("a message counts as sent before it is", "take_notification", "set tries = x.tries + 1",
        "set state = 'sent', tries = x.tries + 1", alone(test_outbox.test_a_message_is_tried_with_backoff_and_given_up)),
    Bug("rules for all types", "apply_rules", "(e.type_id is null or e.type_id = j.type_id) and", "",
        alone(test_error_rules.test_rules_are_for_what_they_name)),
    Bug("a cancel that takes what has just been claimed", "stop_job", "if found and j.status <> 'running' then\n        delete",
        "if found then\n        delete", scene(meet.test_a_cancel_that_comes_while_a_claim_is_under_way)),
    Bug("a finish of what is not running", "completed", UNFENCED, "",
        lambda engine, another: test_final.meet(engine, another, "reap", "complete", running=True)),
    Bug("a cancel that the finish beat says it stops", "stop_job", "if exists (select from lanework.jobs where id = p_id) then",
        "if true then", test_final.test_a_cancel_that_the_finish_beat_says_so),
    Bug("a cancel by filter that takes what runs", "carry_cancel", "j.id = u.id and j.status <> 'running' offset 0",
        "j.id = u.id offset 0", acts(test_operations.test_a_cancel_of_all_states)),
    Bug("a cancel by filter that leaves what is locked", "carry_cancel", "j.id = u.id offset 0)",
        "j.id = u.id and j.status = 'running' offset 0)", acts(test_operations.test_what_somebody_holds_is_asked)),
    Bug("a priority of running jobs", "set_priority", "elsif j.status = 'running' then", "elsif false then",
        acts(test_priorities.test_a_priority_that_changes_nothing_is_refused_in_words)),
    Bug("an act that takes jobs submitted later", "carry_operation", ":= p_row.cutoff;", ":= p_row.cutoff + 10;",
        acts(test_operations.test_a_cancel_goes_on_in_small_commits)),
    Bug("carriers wait for each other", "carry_operations", "for update skip locked", "for update",
        acts(test_operations.test_carriers_do_not_wait_for_each_other)),
    Bug("an act without its audit row", "start_operation", "perform lanework.audit(", "perform concat(",
        alone(lambda engine: test_audited.test_an_act_has_one_audit_row_in_its_transaction(engine, "start_operation", 0))),
    Bug("an audit row for what was refused", "drain_all", "if not found then return false; end if;", "",
        alone(lambda engine: test_audited.test_what_is_refused_has_none(engine, "drain_all", 0))),
    Bug("a cascade with audit rows", "cancel_families", "lanework.stop_job(x.id, '', 'its parent was cancelled', true)",
        "lanework.cancel(x.id, '', 'its parent was cancelled')", alone(test_audited.test_the_engines_own_cascades_write_none)),
    Bug("a drain that claims pass", "drain_all", "perform lanework.lane_lock(x.id)", "perform (x.id)",
        acts(test_drains.test_a_claim_does_not_pass_a_drain_of_everything)),
    Bug("a drain of a worker that its claim passes", "steered_worker", "for update", "",
        acts(test_drains.test_a_drain_waits_for_a_claim_under_way)),
    Bug("a freeze that claims pass", "hold_lanes", "perform lanework.lane_lock(x.id)", "perform (x.id)",
        acts(test_freezes.test_a_claim_does_not_pass_a_freeze)),
    Bug("a freeze that nobody looks at", "free_slots", "f.lane = p_lane.name and", "false and",
        acts(test_freezes.test_a_frozen_lane_starts_nothing_and_keeps_its_settings)),
    Bug("a hold that outlives its run", "holds", "and j.claim_id = p_freeze.claim_id", "",
        acts(test_freezes.test_the_next_attempt_does_not_hold_what_the_last_one_froze)),
    Bug("jobs that freeze each other", "hold_lanes", "if v_other is not null then", "if false then",
        acts(test_freezes.test_two_jobs_that_would_wait_for_each_other)),
    Bug("spared children are cancelled", "freed", "and not s.children", "and false",
        acts(test_operations.test_children_can_be_spared)),
    Bug("other bodies under one key", "enqueue", "k.body_hash <> v_hash", "false",
        alone(test_waiting.test_the_same_key_is_the_same_job)),
    Bug("a tick is fired whatever its key says", "fire_tick", "if not found then return false; end if;", "",
        alone(test_schedules.test_the_key_alone_keeps_a_tick_single)),
    Bug("the cursor is not looked at", "fire", "x > s.last_tick and", "",
        alone(test_schedules.test_a_row_that_stands_for_many_keeps_them_out)),
    Bug("overlap is decided without a lock", "hold_schedule", "for no key update", "",
        lambda engine, another: test_schedules.test_overlap_is_decided_under_the_schedules_lock(
            House(engine), another)),
    Bug("leaders decide without a lock", "fire", "for no key update", "",
        lambda engine, another: test_schedules.test_overlap_is_decided_under_the_schedules_lock(
            House(engine), another)),
    Bug("jitter by chance", "jitter", re.compile(r"\('x' \|\| .*?\)::bit\(32\)::bigint / 4294967296.0"), "random()",
        alone(test_schedules.test_jitter_is_the_same_for_everybody)),
    Bug("code overwrites operators", "register_schedules", "if s.set_by = 'code' then", "if true then",
        alone(test_schedules.test_code_never_overwrites_an_operator)),
    Bug("an old leader fires new times", "fire", "s.revision <> p_revision or", "",
        alone(test_schedules.test_another_revision_decides_nothing)),
    Bug("errors go on for ever", "schedule_erred", "s.errors >= 5 and", "false and",
        scheduled(test_schedules.test_five_errors_in_a_row_disable_it_loudly)),
    Bug("an error does not back off", "fire_tick", "v_now < s.not_before", "false",
        scheduled(test_schedules.test_an_error_backs_off_and_a_success_forgets_it)),
    Bug("a condition answers twice", "answer_condition", " and k.outcome = 'asking'", "",
        scheduled(test_schedules.test_a_condition_is_asked_by_a_job, "yes")),
    Bug("queued jobs of a schedule run at once", "submit_tick", "coalesce(s.session, 'schedule:' || p_name)", "null",
        scheduled(test_schedules.test_what_is_queued_runs_one_at_a_time)),
    Bug("two runs of one task", "begin_task", "coalesce(x.running_until, '-infinity') < v_now", "true",
        alone(test_maintenance.test_one_run_of_a_task_in_the_cluster)),
    Bug("an end without its fence", "end_task", " and x.fence = p_fence", "",
        alone(test_maintenance.test_one_run_of_a_task_in_the_cluster)),
    Bug("a completion lets nobody go", "completed", "perform lanework.promote_followers(v_sessions);", "null;",
        wide(test_sessions.test_a_completion_lets_the_next_one_go)),
    Bug("a follower at that moment is missed", "promote_followers", "perform lanework.lock_sessions(p_sessions);", "",
        wide(test_sessions.test_a_follower_that_is_submitted_while_its_head_completes)),
    Bug("a follower that moves is lost", "promote_followers", "v_gone_on < v_heads", "false",
        wide(test_sessions.test_the_next_one_changes_while_its_head_completes)),
    Bug("each walk begins at the first session", "idle_sessions", "and j.session > v_after", "",
        alone(test_sessions.test_every_idle_session_is_reached)),
    Bug("the highest follower is next", "promote_followers", "order by j.session, j.id limit 1",
        "order by j.session, j.id desc limit 1",
        wide(test_sessions.test_a_completion_lets_the_next_one_go)),
    Bug("a waiting head gives up its session", "promote_sessions", "('approved', 'running', 'scheduled')",
        "('approved', 'running')",
        wide(test_sessions.test_a_head_that_waits_keeps_its_session)),
    Bug("events read by id", "read_events", "(e.xid, e.id) > (p_xid, p_id) and e.xid < v_horizon", "e.id > p_id",
        test_events.test_what_commits_late_is_not_skipped),
    Bug("events read past the horizon", "read_events", "and e.xid < v_horizon", "",
        test_events.test_what_commits_late_is_not_skipped),
    Bug("rolled back events hold up nothing", "read_events", "pg_snapshot_xmin(", "pg_snapshot_xmax(",
        test_events.test_what_is_rolled_back_was_never_told),
    Bug("a merge overwrites", "merge_rollups", "submitted = r.submitted + excluded.submitted", "submitted = excluded.submitted",
        alone(test_metrics.test_merging_adds_to_what_was_merged_before)),
    Bug("a merge copies", "merge_rollups", "delete from lanework.rollups r where", "update lanework.rollups r set spend = 0 where",
        alone(test_metrics.test_merging_adds_to_what_was_merged_before)),
    Bug("a finish overwrites", "note_done", "completed = r.completed + excluded.completed", "completed = excluded.completed",
        alone(test_metrics.test_every_change_is_told_and_counted_once)),
    Bug("a claim overwrites", "claim", "started = r.started + excluded.started", "started = excluded.started",
        alone(test_metrics.test_every_change_is_told_and_counted_once)),
    Bug("a gap in a batch", "note_done", "v_high - v_low + 1 = v_count", "true",
        alone(test_metrics.test_every_change_is_told_and_counted_once)),
    Bug("given back untold", "note_attempts", "'snooze', 'release'", "'snooze'",
        alone(test_metrics.test_every_change_is_told_and_counted_once)),
    Bug("failures of one class", "note_failed", "array_agg(x.error_class)", "array_agg('unknown'::text)",
        alone(test_metrics.test_every_change_is_told_and_counted_once)),
    Bug("finishes share a row", "note_done", "pg_backend_pid()", "1",
        test_events.test_a_finish_in_somebodys_open_transaction_holds_up_no_other_finish),
    Bug("submits share a row", "new_jobs", "pg_backend_pid()", "1",
        test_events.test_submits_of_open_transactions_do_not_wait_for_each_other),


    Bug("an approval of anything", "give_approval", "p_hash is distinct from v_hash", "false",
        approved(test_approval.test_an_approval_is_for_what_was_seen)),
    Bug("an approval that does not look again", "give_approval", "for no key update", "",
        met("awaiting_approval", "edit", "approve")),
    Bug("an edit that keeps its state", "edit", "perform lanework.gate(array[p_id]);", "", met("approved", "edit", "claim")),
    Bug("an edit that keeps the approval", "edit", "delete from lanework.approvals a where a.job_id = p_id;", "",
        met("approved", "edit", "edit")),
    Bug("an edit that does not look again", "edit", "for no key update", "", met("approved", "claim", "edit")),
    Bug("an edit that keeps the steps", "edit", "delete from lanework.steps s where s.job_id = p_id;", "",
        approved(test_approval.test_an_edit_starts_anew_from_every_waiting_state, "retry", False, None)),
    Bug("COPY smuggles", "new_jobs", "perform lanework.gate(", "perform cardinality(",
        approved(test_approval.test_whatever_the_way_it_waits_for_its_approval, test_approval.WAYS["copy"])),
    Bug("a failed estimate approves", "why_approval", "when e.failed then", "when false then",
        approved(test_estimates.test_an_estimate_that_fails_approves_nothing, "never", "fail")),
    Bug("an estimate that cannot be read approves", "read_estimate", "e.failed := true;", "e.failed := false;",
        approved(test_estimates.test_an_estimate_that_fails_approves_nothing, "never", "bad number")),
    Bug("a cancelled job goes on being estimated", "freed", "perform lanework.estimated(p_ids);", "",
        approved(test_estimates.test_the_end_of_a_pending_job_ends_its_estimate, "cancel", False)),
    Bug("steps of the estimate that nobody looks for", "estimated", "set continues = r.estimate_id", "set continues = null",
        approved(test_estimates.test_its_steps_and_blobs_are_the_runs)),
    Bug("one's own eyes", "person", "regexp_replace(lower(p_who), '^[a-z]+:', '')", "p_who",
        approved(test_approval.test_four_eyes, "ada", "cli:ada", False)),
    Bug("acts approve what nobody saw", "carry_approve", "and r.since <= v_asked", "",
        approved(test_approval.test_many_at_once)),
    # permits
    Bug("no lock on the permit", "permit_lock", "pg_advisory_xact_lock(1279350097, p_permit)", "null",
        test_permits.test_a_grant_is_never_counted_from_before_the_lock),
    Bug("no lock on a declared permit", "permit_lock", "pg_advisory_xact_lock(1279350097, p_permit)", "null",
        test_permits.test_a_claim_never_counts_from_before_the_lock),
    Bug("permits counted before the lock", "take_declared", "perform lanework.permit_lock(i) from unnest(v_permits) i;", "",
        test_permits.test_a_claim_never_counts_from_before_the_lock),
    Bug("others' holds not counted", "permit_left", "coalesce(sum(u.used), 0)", "0",
        alone(test_permits.test_no_more_than_the_capacity_over_processes)),
    Bug("tokens not counted", "permit_left", "h.expires_at > v_now", "false",
        alone(test_permits.test_tokens_and_processes_share_the_capacity)),
    Bug("a part of several", "take_permits", "least(v_most, v_left[i])", "greatest(least(v_most, 1), v_left[i])",
        alone(test_permits.test_several_together_all_or_none)),
    Bug("a late call takes back", "take_permits", "u.call > p_call", "false", alone(test_permits.test_a_late_call_sets_nothing)),
    Bug("nobody's turn", "permit_left", "w.since < p_since", "false", alone(test_permits.test_who_waited_longer_comes_first)),
    Bug("the dead keep their permits", "end_worker", "perform lanework.free_permits(p_worker);", "",
        alone(test_permits.test_holds_are_freed_with_their_process_and_once)),
    Bug("a dead process takes one", "take_permits", "not lanework.living(p_worker, '{active,draining}')", "false",
        alone(test_permits.test_holds_are_freed_with_their_process_and_once)),
    Bug("freed while it is held", "keep_permits", "h.value::int as held", "0 as held",
        alone(test_permits.test_declared_permits_are_taken_with_the_claim)),
    Bug("a finish frees nothing", "keep_permits", "where t.held <> t.was", "where t.held > t.was",
        alone(test_permits.test_declared_permits_are_taken_with_the_claim)),
    Bug("freed, and nobody woken", "permits_freed", "perform lanework.wake_parked('permit:' || x.name, x.freed, p_lane);", "",
        alone(test_permits.test_a_dead_workers_declared_holds_wake_who_waits)),
    Bug("an expired hold is renewed", "renew_permits", "and h.expires_at > v_now", "",
        alone(test_permits.test_a_token_holds_until_its_expiry)),
    Bug("a renewal beside an acquire", "renew_permits", "perform lanework.permit_lock(x.permit_id)", "perform (x.permit_id)",
        test_permits.test_renew_waits_for_an_acquire),
    Bug("shut types are looked at", "claim", "r.type <> all (v_shut)", "true",
        alone(test_permits.test_jobs_behind_that_need_something_else_go_on)),
    # rates
    Bug("the burst comes on top of the limit", "rate_room", "p_window / (p_limit - v_burst)", "p_window / p_limit",
        lambda engine, _: test_rates.test_the_limit_is_nearly_reached(engine, 200)),
    Bug("a whole burst after a pause", "pause_rate", "requests_at = case when x.requests is null", "requests_at = case when true",
        alone(test_rates.test_after_a_pause_the_burst_is_one)),
    Bug("rates not locked", "take_rate", "for update", "", test_rates.test_grants_are_counted_one_after_the_other),
    # budgets
    Bug("budgets not locked", "reserve", "order by x.name for update", "order by x.name",
        test_budgets.test_reserves_wait_for_each_other),
    Bug("reserved is not counted", "budget_left", "s.spent + s.reserved", "s.spent",
        alone(test_budgets.test_no_more_than_the_amount)),
    Bug("a settle is lost", "settle_reservation", "spent = s.spent + v_spent", "spent = s.spent",
        alone(test_budgets.test_no_more_than_the_amount)),
    Bug("settled twice", "settle_reservation", "r.state in ('settled', 'released') or", "false or",
        alone(test_budgets.test_settling_is_idempotent_and_goes_to_its_own_day)),
    Bug("the dead's reservation is released", "settle_lost_reservations", "lanework.settle_reservation(i, null)",
        "lanework.release_reservation(i)", alone(test_budgets.test_a_reservation_of_the_dead_counts_as_spent)),
    Bug("settled today", "settle_reservation", "and s.since = n.since", "and s.since = lanework.period_of('day', lanework.now())",
        alone(test_budgets.test_settling_is_idempotent_and_goes_to_its_own_day)),
    # the audit log
    Bug("sealed above the horizon", "seal_audit", "and l.xid < pg_snapshot_xmin(pg_current_snapshot())", "",
        test_seals.test_seals_follow_the_order_of_transactions),
    Bug("two sealers", "seal_audit", "not pg_try_advisory_xact_lock(1279350094, 3)", "false", test_seals.test_one_sealer_at_a_time),
    Bug("what is sealed may change", "refuse_change", re.compile(r"raise exception .*?'LW580';", re.DOTALL), "return null;",
        lambda engine, _: test_seals.test_nothing_but_adding(engine, "audit_log", "delete from lanework.{}")),
    Bug("who did it is not sealed", "seal_of", "a.actor, ", "",
        lambda engine, _: test_seals.test_a_changed_row_is_found(engine, "actor = 'x'")),
    Bug("seals are not compared", "verify_audit", "or lanework.seal_of(v_seal, a) <> s.seal", "",
        lambda engine, _: test_seals.test_a_changed_row_is_found(engine, "target = 'x'")),
    Bug("rows are not looked for", "verify_audit",
        "not found or s.position <> v_sealed + 1 or lanework.seal_of(v_seal, a) <> s.seal",
        "a.id is not null and lanework.seal_of(v_seal, a) <> s.seal", alone(test_seals.test_a_row_that_was_taken_out_is_found)),
    Bug("what was put in is not seen", "verify_audit", "if v_bad is null then", "if false then",
        alone(test_seals.test_a_row_that_was_put_in_is_found)),
]  # fmt: skip


def noticed(engine: Engine, test: Callable[[], object]) -> bool:
    """By an assertion, an error of the server, or an oracle."""
    try:
        test()
    except (AssertionError, ValueError, psycopg.Error, pytest.fail.Exception):
        return True
    return bool(complaints(engine))


@pytest.mark.pg(18)
@pytest.mark.parametrize("bug", BUGS, ids=[bug.what for bug in BUGS])
def test_a_planted_bug_is_noticed(engine: Engine, another: Another, bug: Bug) -> None:
    with planted(engine, bug.function, bug.right, bug.wrong):
        assert noticed(engine, lambda: bug.test(engine, another)), f"nobody noticed: {bug.what}"
    wipe(engine)


@pytest.mark.pg(18)
def test_the_history_notices_a_crowd_without_the_lane_lock(engine: Engine, shared_database: str) -> None:
    lane, kinds = engine.lane("l", 1), [engine.type(f"t{n}", "l") for n in range(8)]
    for n in range(400):
        engine.enqueue(f"t{n % 8}")
    crowd = Crowd(shared_database, 1)
    for kind in kinds:
        crowd.add(Worker({lane: [kind]}))
    with planted(engine, "lane_lock", "pg_advisory_xact_lock(1279350095, p_lane)", "null"):
        crowd.work(lambda: bool(complaints(engine)) or not engine.one("select count(*) from lanework.jobs"))
    assert {row["oracle"] for row in complaints(engine)} == {"over_slots"}
    wipe(engine)
