"""Sample calls of every act of an operator: one that acts, and ones that change nothing. An act without a sample here fails
`test_audited.py`: a new verb cannot be forgotten.

Each sample is given a `Scene` and answers the SQL of one call with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.sql.engine import Claim, Engine

Call = tuple[Any, ...]


@dataclass
class Scene:
    """A lane `l` with type `t`, one job that waits, one that runs, one that has completed, and the worker."""

    engine: Engine
    lane: int = 0
    worker: int = 0
    ids: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lane, kind = self.engine.lane("l", None), self.engine.type("t", "l")
        self.worker = self.engine.worker()
        for status in ("completed", "running"):
            self.ids[status] = self.engine.enqueue("t")
            claims = self.engine.claim(self.worker, self.lane, kind)
            if status == "completed":
                self.engine.completed(self.worker, *claims)
        self.ids["waiting"] = self.engine.enqueue("t")
        self.engine.rows("select proof.forget_audit()")

    def before(self, sql: str, *args: Any) -> Scene:
        """Something that somebody did earlier; its own audit row is forgotten."""
        self.engine.rows(sql, *args)
        self.engine.rows("select proof.forget_audit()")
        return self

    def freeze(self) -> int:
        held = int(self.engine.one("select lanework.freeze('{l}', 'me', '', 60)"))
        self.engine.rows("select proof.forget_audit()")
        return held

    def operation(self) -> int:
        made = self.engine.one("select lanework.start_operation('cancel', '{\"type\": [\"t\"]}', '{}', 'me')")
        self.engine.rows("select proof.forget_audit()")
        return int(made)

    def dead(self) -> int:
        """The one that runs dies."""
        row = self.engine.rows("select id, attempt, claim_id from lanework.jobs where id = %s", self.ids["running"])[0]
        self.engine.settle(self.worker, Claim(row["id"], row["attempt"], row["claim_id"]), action="fail", error="boom")
        return self.ids["running"]

    def redrive(self) -> int:
        columns = "(state, filter, cutoff, matched, started_by) values ('flowing', '{}', 0, 0, 'me')"
        return int(self.engine.one(f"insert into lanework.redrives {columns} returning id"))

    def rule(self) -> int:
        made = self.engine.one("select lanework.set_error_rule(null, 't', 'x', 'permanent', 'me')")
        self.engine.rows("select proof.forget_audit()")
        return int(made)

    def schedule(self) -> Scene:
        return self.before(SET_SCHEDULE, "s", '{"type": "t", "every_s": 60}', True)

    def ended_operation(self) -> int:
        made = self.operation()
        self.engine.rows("select lanework.carry_operations(%s)", made)
        return made


@dataclass(frozen=True)
class Sample:
    """`acts`: calls that do something; `refuses`: calls that change nothing, with an error or an answer."""

    acts: list[Callable[[Scene], Call]]
    refuses: list[Callable[[Scene], Call]]


TOKEN = "6f1c1f9e-0000-4000-8000-000000000001"
SET_PERMIT, REVOKE = "select * from lanework.set_permit(%s, %s, 'me')", "select lanework.revoke_permit(%s, 'me')"
HOLD = "select * from lanework.acquire_permits('{gpu}', 1, '60 s', '', null, %s, null)"
SET_RATE, RESUME_RATE = "select * from lanework.set_rate('r', %s::jsonb, 'me')", "select lanework.resume_rate('r', 'me')"
SET_BUDGET, REMOVE_BUDGET = "select * from lanework.set_budget('b', %s, %s, 'me')", "select lanework.remove_budget('b', 'me')"
DRAIN, RESUME = "select lanework.drain_worker(%s, 'me')", "select lanework.resume_worker(%s, 'me')"
CANCEL, PRIORITY = "select lanework.cancel(%s, 'me')", "select lanework.set_priority(%s, %s, 'me')"
SET_LANE = "select * from lanework.set_lane(%s, %s, 'me', %s)"
START = "select lanework.start_operation(%s, %s, %s, 'me')"
STOP = "select lanework.stop_operation(%s, 'me')"
REMOVE = "select lanework.remove_lane(%s, %s, 'me')"
FREEZE = "select lanework.freeze(%s, 'me', '', %s)"
RETRY, HOOK = "select lanework.retry(%s, 'me')", "select lanework.set_notifier('hook', %s, null, true, null, 'me')"
REDRIVE, HALT = "select lanework.start_redrive(%s, true, null, 'me')", "select lanework.stop_redrive(%s, 'me')"
ARCHIVE, RULE = "select lanework.archive_dead(%s, 'me')", "select lanework.set_error_rule(null, 't', 'x', %s, 'me')"
NO_RULE, NO_HOOK = "select lanework.remove_error_rule(%s, 'me')", "select lanework.remove_notifier('hook', 'me')"
DRAIN_ALL, RESUME_ALL = "select lanework.drain_all('me')", "select lanework.resume_all('me')"

HASH = "(select lanework.hash_of(j) from lanework.jobs j where id = %s)"
APPROVE, REJECT = f"select lanework.approve(%s, {HASH}, null, 'me')", "select lanework.reject(%s, %s, 'me')"
EDIT = "select lanework.edit(%s, %s, null, 'me')"
APPROVAL_RULE = "select lanework.set_approval_rule(%s, '*', %s, null, null, null, 'me')"
NO_APPROVAL_RULE = "select lanework.remove_approval_rule(%s, '*', 'me')"


def asked(it: Scene) -> int:
    """A job that waits for an approval."""
    it.engine.type("dear", "l", approval="always")
    return it.engine.enqueue("dear")


SET_SCHEDULE = "select * from lanework.set_schedule(%s, %s, 'me', %s)"
RUN_SCHEDULE = "select * from lanework.run_schedule(%s, 'me', false)"
DECLARE = """select * from lanework.register_schedules('[{"name": "c", "type": "t", "cron": "0 3 * * *", "every_s": null}]')"""
TASK = """select lanework.register_tasks(
    '[{"name": "p", "description": "", "every_s": 60, "cron": null, "tz": "UTC", "timeout_s": 5}]')"""

#: Function → samples.
TELLING = "select lanework.set_telling('job', %s, %s, 'me')"
DELETE = "select lanework.delete_job(%s, 'me')"
SAMPLES: dict[str, Sample] = {
    "delete_job": Sample(
        [lambda it: (DELETE, it.ids["completed"])],
        [lambda it: (DELETE, it.ids["running"]), lambda it: (DELETE, it.ids["waiting"]), lambda _: (DELETE, 10**9)],
    ),
    "set_telling": Sample([lambda _: (TELLING, "started", False), lambda _: (TELLING, "*", True)], []),
    "approve": Sample(
        [lambda it: (APPROVE, *[asked(it)] * 2)],
        [lambda it: (APPROVE, *[it.ids["waiting"]] * 2), lambda it: (APPROVE, asked(it), 0), lambda _: (APPROVE, 10**9, 10**9)],
    ),
    "reject": Sample(
        [lambda it: (REJECT, asked(it), "no")],
        [lambda it: (REJECT, asked(it), ""), lambda it: (REJECT, it.ids["waiting"], "no"), lambda _: (REJECT, 10**9, "no")],
    ),
    "edit": Sample(
        [lambda it: (EDIT, it.ids["waiting"], '{"n": 1}'), lambda it: (EDIT, asked(it), '{"n": 1}')],
        [lambda it: (EDIT, it.ids["waiting"], "[]"), lambda it: (EDIT, it.ids["running"], "{}"), lambda _: (EDIT, 10**9, "{}")],
    ),
    "set_approval_rule": Sample(
        [lambda _: (APPROVAL_RULE, "t", "always")],
        [lambda _: (APPROVAL_RULE, "t", "sometimes"), lambda _: (APPROVAL_RULE, "x", "always")]
    ),
    "remove_approval_rule": Sample(
        [lambda it: (NO_APPROVAL_RULE, "t") if it.before(APPROVAL_RULE, "t", "always") else ()], [lambda _: (NO_APPROVAL_RULE, "t")]
    ),
    "cancel": Sample(
        [lambda it: (CANCEL, it.ids["waiting"]), lambda it: (CANCEL, it.ids["running"])],
        [lambda it: (CANCEL, it.ids["completed"]), lambda _: (CANCEL, 10**9)],
    ),
    "set_priority": Sample(
        [lambda it: (PRIORITY, it.ids["waiting"], 5)],
        [lambda it: (PRIORITY, it.ids["waiting"], 5000), lambda it: (PRIORITY, it.ids["running"], 5),
         lambda it: (PRIORITY, it.ids["completed"], 5), lambda _: (PRIORITY, 10**9, 5)],
    ),
    "set_lane": Sample(
        [lambda _: (SET_LANE, "l", '{"enabled": false}', False), lambda _: (SET_LANE, "new", "{}", True)],
        [lambda _: (SET_LANE, "nowhere", "{}", False), lambda _: (SET_LANE, "l", '{"max_slots": -1}', False)],
    ),
    "remove_lane": Sample(
        [lambda _: (REMOVE, "l", "default")],
        [lambda _: (REMOVE, "l", None), lambda _: (REMOVE, "default", "l")],
    ),
    "start_operation": Sample(
        [lambda _: (START, "cancel", '{"type": ["t"]}', "{}"), lambda _: (START, "priority", '{"type": ["t"]}', '{"priority": 1}')],
        [lambda _: (START, "cancel", "{}", "{}"), lambda _: (START, "bake", '{"type": ["t"]}', "{}")],
    ),
    "stop_operation": Sample(
        [lambda it: (STOP, it.operation())],
        [lambda _: (STOP, 123456), lambda it: (STOP, it.ended_operation())],
    ),
    "drain_worker": Sample(
        [lambda it: (DRAIN, it.worker)],
        [lambda _: (DRAIN, 10**9), lambda it: (DRAIN, it.before(DRAIN, it.worker).worker)],
    ),
    "resume_worker": Sample(
        [lambda it: (RESUME, it.before(DRAIN, it.worker).worker)],
        [lambda it: (RESUME, it.worker), lambda _: (RESUME, 10**9)],
    ),
    "drain_all": Sample([lambda _: (DRAIN_ALL,)], [lambda it: (it.before(DRAIN_ALL) and DRAIN_ALL,)]),
    "resume_all": Sample([lambda it: (it.before(DRAIN_ALL) and RESUME_ALL,)], [lambda _: (RESUME_ALL,)]),
    "freeze": Sample(
        [lambda _: (FREEZE, ["l", "default"], 60)],
        [lambda _: (FREEZE, ["nowhere"], 60), lambda _: (FREEZE, ["l"], 0)],
    ),
    "thaw": Sample(
        [lambda it: ("select lanework.thaw(%s, 'me')", it.freeze())],
        [lambda _: ("select lanework.thaw(123456, 'me')",)],
    ),
    "retry": Sample([lambda it: (RETRY, it.dead())], [lambda it: (RETRY, it.ids["waiting"]), lambda _: (RETRY, 10**9)]),
    "start_redrive": Sample(
        [lambda it: (it.dead() and REDRIVE, '{"type": "t"}')],
        [lambda _: (REDRIVE, '{"type": "t"}'), lambda _: (REDRIVE, "{}")],
    ),
    "stop_redrive": Sample([lambda it: (HALT, it.redrive())], [lambda _: (HALT, 10**9)]),
    "archive_dead": Sample([lambda it: (it.dead() and ARCHIVE, '{"type": "t"}')], [lambda _: (ARCHIVE, '{"type": "t"}')]),
    "set_error_rule": Sample([lambda _: (RULE, "permanent")], [lambda _: (RULE, "budget")]),
    "remove_error_rule": Sample([lambda it: (NO_RULE, it.rule())], [lambda _: (NO_RULE, 10**9)]),
    "set_notifier": Sample([lambda _: (HOOK, "http://x.example/")], [lambda _: (HOOK, "ftp://x"), lambda _: (HOOK, None)]),
    "remove_notifier": Sample([lambda it: (it.before(HOOK, "http://x.example/") and NO_HOOK,)], [lambda _: (NO_HOOK,)]),
    "set_schedule": Sample(
        [lambda _: (SET_SCHEDULE, "s", '{"type": "t", "every_s": 60}', True),
         lambda it: (it.schedule() and SET_SCHEDULE, "s", '{"cron": "0 3 * * *"}', False)],
        [lambda _: (SET_SCHEDULE, "s", '{"every_s": 60}', False), lambda _: (SET_SCHEDULE, "s", '{"type": "t"}', True),
         lambda it: (it.schedule() and SET_SCHEDULE, "s", '{"type": "t", "every_s": 60}', True),
         lambda it: (it.schedule() and SET_SCHEDULE, "s", '{"overlap": "maybe"}', False)],
    ),
    "pause_schedule": Sample(
        [lambda it: (it.schedule() and "select lanework.pause_schedule('s', 'me', '')",)],
        [lambda _: ("select lanework.pause_schedule('s', 'me', '')",)],
    ),
    "resume_schedule": Sample(
        [lambda it: (it.schedule() and "select lanework.resume_schedule('s', 'me')",)],
        [lambda _: ("select lanework.resume_schedule('s', 'me')",)],
    ),
    "run_schedule": Sample(
        [lambda it: (it.schedule() and RUN_SCHEDULE, "s"),
         lambda it: (it.schedule().before(RUN_SCHEDULE, "s") and RUN_SCHEDULE, "s")],
        [lambda _: (RUN_SCHEDULE, "s")],
    ),
    "remove_schedule": Sample(
        [lambda it: (it.schedule() and "select lanework.remove_schedule('s', 'me')",)],
        [lambda _: ("select lanework.remove_schedule('s', 'me')",)],
    ),
    "reset_schedule": Sample(
        [lambda it: (it.before(DECLARE) and "select lanework.reset_schedule('c', 'me')",)],
        [lambda it: (it.schedule() and "select lanework.reset_schedule('s', 'me')",)],
    ),
    "enable_task": Sample(
        [lambda _: ("select lanework.enable_task('rollups', false, 'me')",)],
        [lambda _: ("select lanework.enable_task('nothing', false, 'me')",)],
    ),
    "ask_task": Sample(
        [lambda _: ("select lanework.ask_task('rollups', 'me')",)],
        [lambda _: ("select lanework.ask_task('nothing', 'me')",)],
    ),
    "remove_task": Sample(
        [lambda it: (it.before(TASK) and "select lanework.remove_task('p', 'me')",)],
        [lambda _: ("select lanework.remove_task('rollups', 'me')",)],
    ),
    "set_permit": Sample([lambda _: (SET_PERMIT, "gpu", 2)], [lambda _: (SET_PERMIT, "gpu", -1), lambda _: (SET_PERMIT, "", 1)]),
    "revoke_permit": Sample(
        [lambda it: (it.before(HOLD, TOKEN) and REVOKE, TOKEN)], [lambda _: (REVOKE, TOKEN)],
    ),
    "set_rate": Sample([lambda _: (SET_RATE, '{"requests": 5}')], [lambda _: (SET_RATE, '{"requests": -5}')]),
    "pause_rate": Sample([lambda _: ("select lanework.pause_rate('r', 5, 'me')",)], []),
    "resume_rate": Sample(
        [lambda it: (it.before("select lanework.pause_rate('r', 5, 'me')") and RESUME_RATE,)], [lambda _: (RESUME_RATE,)],
    ),
    "set_budget": Sample(
        [lambda _: (SET_BUDGET, 5, "day")],
        [lambda _: (SET_BUDGET, -5, "day"), lambda _: (SET_BUDGET, 5, "week")],
    ),
    "remove_budget": Sample([lambda it: (it.before(SET_BUDGET, 5, "day") and REMOVE_BUDGET,)], [lambda _: (REMOVE_BUDGET,)]),
}  # fmt: skip

#: Carry out what an operation, with its one audit row, has begun: they write none themselves.
CARRIERS = "carry\\_%"
