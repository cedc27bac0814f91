"""Rules: what operators know of an error decides, whatever its class says."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.sql.engine import Engine
from tests.sql.letters import a_lane, die, groups
from tests.sql.proof import move


def rule(engine: Engine, error_class: str, pattern: str, type: str | None = "t") -> int:
    return int(engine.one("select lanework.set_error_rule(null, %s, %s, %s, 'ada')", type, pattern, error_class))


@pytest.mark.parametrize(("says", "verdict", "state", "stored", "tries"), [
    ("permanent", {"action": "retry", "error_class": "unknown"}, "failed", "permanent", 1),
    ("permanent", {"action": "retry", "error_class": "transient"}, "failed", "permanent", 1),
    ("permanent", {"action": "retry", "error_class": "worker_lost"}, "approved", "worker_lost", 1),
    ("permanent", {"action": "snooze", "error_class": "throttled", "delay_s": 5}, "scheduled", "throttled", 0),
    ("transient", {"action": "fail", "error_class": "permanent"}, "scheduled", "transient", 1),
    ("transient", {"action": "fail", "error_class": "invalid_input", "delay_s": 3}, "scheduled", "transient", 1),
    ("transient", {"action": "fail", "error_class": "timeout"}, "failed", "timeout", 1),
    ("throttled", {"action": "fail", "error_class": "permanent"}, "scheduled", "throttled", 0),
    ("throttled", {"action": "retry", "error_class": "unknown"}, "scheduled", "throttled", 0),
    ("transient", {"action": "cancel", "uses_try": False}, "cancelled", None, 0),
])  # fmt: skip
def test_rules(engine: Engine, says: str, verdict: dict[str, Any], state: str, stored: str | None, tries: int) -> None:
    lane, kind, worker = a_lane(engine)
    rule(engine, says, "model <n> is%")
    job = engine.enqueue("t")
    (claim,) = engine.claim(worker, lane, kind)
    assert engine.settle(worker, claim, error="model 7 is overloaded", **verdict) == {job: state}
    assert engine.job(job)["tries_used"] == tries
    assert engine.one("select error_class from lanework.attempts") == stored


def test_a_transient_rule_keeps_the_tries(engine: Engine) -> None:
    lane, kind, worker = a_lane(engine)
    rule(engine, "transient", "boom")
    job = engine.enqueue("t", max_tries=2)
    for expected in ("scheduled", "failed"):
        move(engine, hours=1)
        engine.promote()
        (claim,) = engine.claim(worker, lane, kind)
        assert engine.settle(worker, claim, action="fail", error="boom", error_class="permanent") == {job: expected}


def test_rules_are_for_what_they_name(engine: Engine) -> None:
    lane, kind, worker = a_lane(engine)
    other = engine.type("u", "l")
    die(engine, error="50%_off \\ x", error_class="unknown")
    (group,) = groups(engine)
    number = engine.one("select lanework.set_error_rule(%s, null, null, 'permanent', 'ada')", group["fingerprint"])
    for name, error, state in (("t", "7%_off \\ x", "failed"), ("t", "7%Xoff \\ x", "approved"), ("u", "7%_off \\ x", "approved")):
        job = engine.enqueue(name, priority=5)
        (claim,) = engine.claim(worker, lane, kind if name == "t" else other)
        assert engine.settle(worker, claim, action="retry", error=error, error_class="unknown") == {job: state}, (name, error)
        engine.cancel(job)
    engine.rows("select lanework.remove_error_rule(%s, 'ada')", number)
    job = engine.enqueue("t", priority=9)
    (claim,) = engine.claim(worker, lane, kind)
    assert engine.settle(worker, claim, action="retry", error="7%_off \\ x", error_class="unknown") == {job: "approved"}
    acts = [row["act"] for row in engine.rows("select act from lanework.audit_log where act like 'rule%%' order by id")]
    assert acts == ["rule.set", "rule.remove"]


def test_what_a_rule_refuses(engine: Engine) -> None:
    a_lane(engine)
    for arguments, code in (
        ((None, "t", "x", "budget"), "LW511"), ((None, "nope", "x", "permanent"), "LW511"),
        ((None, None, "", "permanent"), "LW511"), (("nope", None, None, "permanent"), "LW512"),
    ):  # fmt: skip
        with pytest.raises(psycopg.Error) as caught:
            engine.one("select lanework.set_error_rule(%s, %s, %s, %s, 'ada')", *arguments)
        assert caught.value.sqlstate == code
