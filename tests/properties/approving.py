"""The machine, with approval: estimate, approve what was seen (or was there before), edit, reject, expire, and all that it does
besides."""

from __future__ import annotations

import json
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.properties.machine import KINDS, LANES, Machine, pick
from tests.properties.model import DEAR, FINAL, Job, Kind
from tests.sql.proof import move

#: `w` needs an approval; `v` is estimated, and needs one above a sum.
DEAR_KINDS = ("w", "v", "v:estimate")


class Approving(Machine):
    def more_kinds(self) -> None:
        kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "w": ("a", {"approval": "always"}), "v:estimate": ("b", {"estimates": "v"}),
                 "v": ("b", {"approval": "above", "approval_above": DEAR, "estimator": "v:estimate"})}  # fmt: skip
        for name, (lane, options) in kinds.items():
            self.model.kinds[name] = Kind(self.engine.type(name, lane, **options), lane)
        self.model.came_back = self._came_back

    @rule(kind=st.sampled_from("wv"), priority=st.sampled_from([0, 5]), delay=st.sampled_from([None, None, 90]),
          age=st.sampled_from([None, None, 30]), key=st.sampled_from([None, None, "m"]), body=st.sampled_from("pq"))  # fmt: skip
    def submit_dear(self, kind: str, priority: int, delay: float | None, age: float | None, key: str | None, body: str) -> None:
        self.submit(kind, priority, delay, age, key, body)

    @rule(n=pick, lane=st.sampled_from(LANES), want=st.integers(1, 4), ends=st.integers(0, 2))
    def claim_dear(self, n: int, lane: str, want: int, ends: int) -> None:
        self.claim(n, lane, [*DEAR_KINDS, *KINDS], want, False, ends)

    def submitted(self, job: Job) -> None:
        self.model.gate(job, self._estimate_of(job))
        self._remember(job)

    def _came_back(self, job: Job) -> None:
        """A dead letter is not asked for again what it was asked for already; what died before that still has to be."""
        if job.agreed or job.kind not in ("w", "v"):
            return
        if job.cheap is None:
            self.model.gate(job, self._estimate_of(job))
        elif not job.cheap:
            job.status, job.asked = "awaiting_approval", self.model.now

    def _estimate_of(self, job: Job) -> int | None:
        rows = self.engine.rows("select estimate_id from lanework.estimating where job_id = %s", job.id)
        assert bool(rows) == (job.kind == "v")
        return rows[0]["estimate_id"] if rows else None

    def _remember(self, job: Job) -> None:
        job.hashes.append(self.engine.one("select lanework.hash_of(j) from lanework.jobs j where id = %s", job.id))

    def _one(self, n: int, *statuses: str) -> Job:
        """One in these states if there is one, or any."""
        jobs = [job for job in self.model.jobs.values() if ":" not in job.kind]
        chosen = [job for job in jobs if job.status in statuses] if n % 4 else []
        return (chosen or jobs)[n % len(chosen or jobs)]

    def _ask(self, sql: str, *args: object) -> str:
        try:
            return str(self.engine.one(sql, *args))
        except psycopg.Error as error:
            return error.sqlstate or str(error)

    @rule(n=pick, old=st.booleans())
    def approve(self, n: int, old: bool) -> None:
        job = self._one(n, "awaiting_approval")
        hash = job.hashes[0 if old else -1]
        assert self._ask("select lanework.approve(%s, %s, null, 'boss')", job.id, hash) == self.model.approve(job, hash)

    @rule(n=pick)
    def reject(self, n: int) -> None:
        job = self._one(n, "pending", "awaiting_approval")
        waits = job.status in ("pending", "awaiting_approval")
        assert self._ask("select lanework.reject(%s, 'no', 'boss')", job.id) == (self.model.cancel(job) if waits else "LW521")

    @rule(n=pick, body=st.sampled_from("rs"))
    def edit(self, n: int, body: str) -> None:
        job = self._one(n, "pending", "awaiting_approval", "approved", "scheduled")
        answer = self._ask("select lanework.edit(%s, %s, null, 'ada')", job.id, json.dumps({"body": body}))
        if job.status in (*FINAL, "running"):
            assert answer == "LW524"
            return
        self.model.forget_estimate(job)
        job.asked = job.progress = job.cheap = None
        job.agreed = False
        self.model.gate(job, self._estimate_of(job))
        assert answer == job.status
        self._remember(job)

    @rule(n=pick, high=st.sampled_from([0, DEAR, DEAR + 1]))
    def estimate(self, n: int, high: float) -> None:
        """An estimate that runs ends well; others end as `write` and `claim` will have it: without one."""
        running = [j for j in self.model.jobs.values() if ":" in j.kind and j.status == "running" and j.claim]
        if running:
            job = running[n % len(running)]
            job.estimate = high
            assert job.claim is not None
            assert self.engine.completed(job.worker, job.claim, result={"high": high}) == 1
            assert self.model.complete(job.claim)

    @rule(day=st.booleans())
    def tend(self, day: bool) -> None:
        if day:
            move(self.engine, hours=24)
            self.model.now += 86_400
        assert self.engine.one("select lanework.tend_approvals()") == self.model.expire()
