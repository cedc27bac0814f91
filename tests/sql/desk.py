"""Where approvals are given: what these tests do to a job that waits for one."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.sql.engine import Claim, Engine

DAY = timedelta(days=1)


class Desk:
    """A lane with a worker, types that need an approval, and the verbs of approval on one connection."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.lane, self.estimates = engine.lane("l", None), engine.lane("estimates", 2)
        self.worker = engine.worker("one", ttl=timedelta(hours=100))
        self.kinds: dict[str, int] = {}

    def kind(self, name: str, *, estimated: bool = False, **options: Any) -> int:
        if estimated:
            self.kinds[f"{name}:estimate"] = self.engine.type(f"{name}:estimate", "estimates", estimates=name)
            options["estimator"] = f"{name}:estimate"
        self.kinds[name] = self.engine.type(name, "l", **options)
        return self.kinds[name]

    def on(self, engine: Engine) -> Desk:
        """The same, on another connection."""
        other = object.__new__(Desk)
        other.__dict__.update(self.__dict__, engine=engine)
        return other

    def claim(self, name: str, want: int = 10) -> list[Claim]:
        lane = self.estimates if name.endswith(":estimate") else self.lane
        return self.engine.claim(self.worker, lane, self.kinds[name], want=want)

    def hash(self, job: int) -> str:
        return str(self.engine.one("select lanework.hash_of(j) from lanework.jobs j where id = %s", job))

    def approve(self, job: int, hash: str | None = None, limit: float | None = None, by: str = "boss") -> str | None:
        shown = hash or self.hash(job)
        answer: str | None = self.engine.one("select lanework.approve(%s, %s, %s::numeric, %s)", job, shown, limit, by)
        return answer

    def reject(self, job: int, reason: str = "too dear") -> str | None:
        answer: str | None = self.engine.one("select lanework.reject(%s, %s, 'boss')", job, reason)
        return answer

    def edit(self, job: int, by: str = "ada", **payload: Any) -> str | None:
        answer: str | None = self.engine.one("select lanework.edit(%s, %s, null, %s)", job, json.dumps(payload), by)
        return answer

    def tend(self) -> int:
        return int(self.engine.one("select lanework.tend_approvals()"))

    def estimate(self, name: str, **result: Any) -> int:
        """Runs the next estimate of this type to its end."""
        (claim,) = self.claim(f"{name}:estimate", want=1)
        self.engine.completed(self.worker, claim, result=result)
        return claim.id

    def save(self, claim: Claim, key: str, value: Any) -> bool:
        """A step of that run."""
        return bool(self.engine.one("select lanework.save_step(%s, %s, %s, %s, %s, null)", *claim, key, json.dumps(value)))

    def row(self, table: str, job: int) -> dict[str, Any]:
        rows = self.engine.rows(f"select * from lanework.{table} where job_id = %s", job)
        return rows[0] if rows else {}

    def audit(self) -> list[tuple[str, str]]:
        return [(row["act"], row["target"]) for row in self.engine.rows("select act, target from lanework.audit_log order by id")]


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(psycopg.Error) as caught:
        call()
    return caught.value.sqlstate or ""
