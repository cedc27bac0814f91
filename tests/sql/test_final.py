"""Promise 6: final states are final. Every verb that ends or moves a job meets every other one on the same job, in each order, the
second while the first is not committed yet; and each is tried on jobs that have ended.

What holds is said by the history's oracles: no step leaves a final state, no row is lost or doubled.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.conftest import Another
from tests.sql.engine import Claim, Engine
from tests.sql.interleave import Beside
from tests.sql.proof import complaints, move

FINAL = ("completed", "failed", "cancelled")


class Scene:
    """One job, claimed by a worker or waiting, that somebody has a deadline for; three sessions."""

    def __init__(self, engine: Engine, another: Another, *, running: bool) -> None:
        self.watcher, self.one, self.two = engine, another(), another()
        self.lane, self.kind = engine.lane("l", None), engine.type("t", "l", max_tries=1)
        self.worker, self.other = engine.worker(), engine.worker()
        self.job = engine.enqueue("t", max_age="1 h")
        self.claim: Claim | None = engine.claim(self.worker, self.lane, self.kind)[0] if running else None
        self.act = int(engine.one("select lanework.start_operation('cancel', %s, '{}', 'ann')", Jsonb({"ids": [self.job]})))
        self.raise_act = int(engine.one(
            "select lanework.start_operation('priority', %s, '{\"priority\": 5}', 'ann')", Jsonb({"ids": [self.job]})))  # fmt: skip
        move(engine, hours=2)

    def held(self) -> Claim:
        return self.claim or Claim(self.job, 1, self.watcher.one("select gen_random_uuid()"))

    def retry(self, engine: Engine) -> Any:
        return engine.settle(self.worker, self.held(), action="retry")


def refusing(call: Callable[[], Any]) -> Any:
    """A verb may refuse; it may not break."""
    try:
        return call()
    except psycopg.Error as error:
        assert str(error.sqlstate).startswith("LW"), error
        return None


Verb = Callable[[Scene, Engine], Any]
VERBS: dict[str, Verb] = {
    "complete": lambda it, engine: engine.completed(it.worker, it.held()),
    "complete and claim": lambda it, engine: engine.claim(it.worker, it.lane, it.kind, done=[it.held()]),
    "retry": lambda it, engine: it.retry(engine),
    "fail": lambda it, engine: engine.settle(it.worker, it.held(), action="fail"),
    "release": lambda it, engine: engine.settle(it.worker, it.held(), action="release", uses_try=False),
    "partial": lambda it, engine: engine.settle(it.worker, it.held(), action="complete", result=1, errors=[{"item": "a"}]),
    "claim": lambda it, engine: engine.claim(it.other, it.lane, it.kind),
    "reap": lambda it, engine: engine.end_worker(it.worker),
    "lost answer": lambda it, engine: engine.beat(it.worker),
    "cancel": lambda it, engine: engine.cancel(it.job),
    "cancel by filter": lambda it, engine: engine.rows("select lanework.carry_operations(%s)", it.act),
    "expire": lambda it, engine: engine.sweep(),
    "priority": lambda it, engine: engine.rows("select lanework.set_priority(%s, 3, 'ann')", it.job),
    "priority by filter": lambda it, engine: engine.rows("select lanework.carry_operations(%s)", it.raise_act),
    "tend": lambda it, engine: engine.rows("select * from lanework.tend(%s, '10 s')", it.other),
}
#: What a waiting job can meet: the rest needs a claim, and is refused.
WAITING = ("complete", "fail", "claim", "cancel", "cancel by filter", "expire", "priority", "priority by filter", "tend")
CORE = ("complete", "retry", "reap", "cancel", "cancel by filter", "expire", "priority", "tend")
MEETINGS = [
    *((True, one, two) for one, two in itertools.product(VERBS, VERBS)),
    *((False, one, two) for one, two in itertools.product(WAITING, WAITING)),
]
#: All of them in the long runs; every day those of the verbs that say the most.
CHOSEN = [
    pytest.param(
        *meeting, marks=() if {*meeting[1:]} <= {*CORE, "claim"} else pytest.mark.chaos, id=f"{word}-{meeting[1]}-{meeting[2]}"
    )
    for meeting in MEETINGS
    for word in ("running" if meeting[0] else "waiting",)
]


def meet(engine: Engine, another: Another, one: str, two: str, *, running: bool) -> None:
    scene = Scene(engine, another, running=running)
    with scene.one.db.transaction():
        refusing(lambda: in_savepoint(scene.one, lambda: VERBS[one](scene, scene.one)))
        second = Beside(engine, scene.two, lambda: refusing(lambda: VERBS[two](scene, scene.two)))
    second.result()
    scene.watcher.job(scene.job)  # it is in exactly one place
    before = scene.watcher.status(scene.job)
    for name, verb in VERBS.items():
        refusing(lambda verb=verb: verb(scene, scene.watcher))  # type: ignore[misc]
        now = scene.watcher.status(scene.job)
        assert before not in FINAL or now == before, f"{name} led from {before} to {now}"
        before = now
    assert complaints(engine) == []


def in_savepoint(engine: Engine, call: Callable[[], Any]) -> Any:
    with engine.db.transaction():
        return call()


@pytest.mark.parametrize(("running", "one", "two"), CHOSEN)
def test_two_verbs_meet(engine: Engine, another: Another, running: bool, one: str, two: str) -> None:
    meet(engine, another, one, two, running=running)


def test_a_cancel_that_the_finish_beat_says_so(engine: Engine, another: Another) -> None:
    """While the cancel asks, the finish commits: the answer is the state that won, and nothing is left behind."""
    scene = Scene(engine, another, running=True)
    with scene.one.db.transaction():
        scene.one.rows("insert into lanework.stops (job_id, kind) values (%s, 'stalled')", scene.job)  # holds up the asking
        cancel = Beside(engine, scene.two, lambda: scene.two.cancel(scene.job))
        assert cancel.blocked
        assert scene.one.completed(scene.worker, scene.held()) == 1
    assert cancel.result() == "completed"
    assert engine.rows("select from lanework.stops") == []
    assert engine.one("select count(*) from lanework.audit_log where act = 'job.cancel'") == 0
