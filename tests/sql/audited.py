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
DRAIN_ALL, RESUME_ALL = "select lanework.drain_all('me')", "select lanework.resume_all('me')"

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
