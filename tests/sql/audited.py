"""Sample calls of every act of an operator: one that acts, and ones that change nothing. An act without a sample here fails
`test_audited.py`: a new verb cannot be forgotten.

Each sample is given a `Scene` and answers the SQL of one call with its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.sql.engine import Engine

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
        self.engine.rows("delete from lanework.audit_log")

    def before(self, sql: str, *args: Any) -> Scene:
        """Something that somebody did earlier; its own audit row is forgotten."""
        self.engine.rows(sql, *args)
        self.engine.rows("delete from lanework.audit_log")
        return self

    def freeze(self) -> int:
        held = int(self.engine.one("select lanework.freeze('{l}', 'me', '', 60)"))
        self.engine.rows("delete from lanework.audit_log")
        return held

    def operation(self) -> int:
        made = self.engine.one("select lanework.start_operation('cancel', '{\"type\": [\"t\"]}', '{}', 'me')")
        self.engine.rows("delete from lanework.audit_log")
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


DRAIN, RESUME = "select lanework.drain_worker(%s, 'me')", "select lanework.resume_worker(%s, 'me')"
CANCEL, PRIORITY = "select lanework.cancel(%s, 'me')", "select lanework.set_priority(%s, %s, 'me')"
SET_LANE = "select * from lanework.set_lane(%s, %s, 'me', %s)"
START = "select lanework.start_operation(%s, %s, %s, 'me')"
STOP = "select lanework.stop_operation(%s, 'me')"
REMOVE = "select lanework.remove_lane(%s, %s, 'me')"
FREEZE = "select lanework.freeze(%s, 'me', '', %s)"
DRAIN_ALL, RESUME_ALL = "select lanework.drain_all('me')", "select lanework.resume_all('me')"

SET_SCHEDULE = "select * from lanework.set_schedule(%s, %s, 'me', %s)"
RUN_SCHEDULE = "select * from lanework.run_schedule(%s, 'me', false)"
DECLARE = """select * from lanework.register_schedules('[{"name": "c", "type": "t", "cron": "0 3 * * *", "every_s": null}]')"""
TASK = """select lanework.register_tasks(
    '[{"name": "p", "description": "", "every_s": 60, "cron": null, "tz": "UTC", "timeout_s": 5}]')"""

#: Function → samples.
SAMPLES: dict[str, Sample] = {
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
}  # fmt: skip

#: Carry out what an operation, with its one audit row, has begun: they write none themselves.
CARRIERS = "carry\\_%"
