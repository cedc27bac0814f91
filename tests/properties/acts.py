"""What operators do, as rules of the machine: cancels and priorities one by one and by filter, drains and freezes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from psycopg.types.json import Jsonb

from tests.properties.model import FINAL, Freeze, Job, Model

if TYPE_CHECKING:
    from tests.properties.model import Worker
    from tests.sql.engine import Claim, Engine

pick = st.integers(0, 10**6)
NAMES = ("a", "b")
lanes = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)


class Acts(RuleBasedStateMachine):
    """A part of the machine: its model, engines and claims are those of the whole."""

    model: Model
    engine: Engine
    claims: list[tuple[int, Claim]]
    lane_of: dict[int, str]

    def worker(self, n: int) -> Worker:
        raise NotImplementedError

    def any_job(self, n: int) -> Job:
        return list(self.model.jobs.values())[n % len(self.model.jobs)]

    def acted(self, before: int, rows: int) -> None:
        """Promise 26: an act has one audit row, a refusal none."""
        assert self.audit_rows() - before == rows

    def audit_rows(self) -> int:
        return int(self.engine.one("select count(*) from lanework.audit_log"))

    # jobs

    @rule(n=pick)
    def cancel(self, n: int) -> None:
        job, before = self.any_job(n), self.audit_rows()
        acts = job.status not in FINAL
        assert self.engine.cancel(job.id) == self.model.cancel(job)
        self.acted(before, acts)

    @rule(n=pick, priority=st.sampled_from([-3, 0, 5, 7, 1001]), kind=st.sampled_from("xyz"),
          status=st.sampled_from([None, "approved", "running", "scheduled", "failed"]))  # fmt: skip
    def act_on_jobs(self, n: int, priority: int, kind: str, status: str | None) -> None:
        if n % 3:
            self.set_priority(n, priority)
        elif n % 2:
            self.act_on_many(kind, status, priority if priority <= 1000 else 1)
        else:
            self.act_on_many(kind, status, None)

    def set_priority(self, n: int, priority: int) -> None:
        job, before = self.any_job(n), self.audit_rows()
        code = "LW300" if priority > 1000 else "LW502" if job.status in (*FINAL, "running") else None
        try:
            was = self.engine.one("select lanework.set_priority(%s, %s, 'me')", job.id, priority)
        except psycopg.Error as error:
            assert error.sqlstate == code, error
            self.acted(before, 0)
            return
        assert (code, was) == (None, -job.rank)
        job.rank = -priority
        self.ranks_agree()
        self.acted(before, 1)

    def act_on_many(self, kind: str, status: str | None, priority: int | None) -> None:
        """A cancel, or another priority, of all jobs of a kind: what is submitted after its begin is not concerned."""
        filter: dict[str, Any] = {"type": [kind], **({"status": [status]} if status else {})}
        act, args = ("cancel", {}) if priority is None else ("priority", {"priority": priority})
        before = self.audit_rows()
        number = self.engine.one("select lanework.start_operation(%s, %s, %s, 'me')", act, Jsonb(filter), Jsonb(args))
        assert self.engine.one("select lanework.carry_operations(%s)", number) is False
        self.acted(before, 1)
        concerned = [j for j in self.model.jobs.values() if j.kind == kind and status in (None, j.status) and self.concerns(act, j)]
        for job in concerned:
            if priority is None:
                self.model.cancel(job)
            else:
                job.rank = -priority
        row = self.engine.rows("select matched, done, skipped, state from lanework.operations where id = %s", number)[0]
        assert row == {"matched": len(concerned), "done": len(concerned), "skipped": 0, "state": "done"}
        self.ranks_agree()

    def ranks_agree(self) -> None:
        rows = self.engine.rows("select id, rank from lanework.jobs")
        assert {row["id"]: row["rank"] for row in rows} == {j.id: j.rank for j in self.model.jobs.values() if j.status not in FINAL}

    @staticmethod
    def concerns(act: str, job: Job) -> bool:
        return job.status not in FINAL and (act == "cancel" or job.status != "running")

    # drains and freezes

    @rule(n=pick, how=st.sampled_from(["worker", "everything", "freeze", "freeze inside", "thaw"]), chosen=lanes)
    def steer(self, n: int, how: str, chosen: list[str]) -> None:
        """What was closed is opened again soon: a machine in which nothing runs finds nothing."""
        match how:
            case "worker":
                self.steer_worker(n, n % 3 == 0)
            case "everything":
                self.steer_everything(n % 4 == 0)
            case "freeze":
                self.freeze(chosen, 1 if n % 3 else 30)
            case "freeze inside" if self.claims:
                self.freeze_inside(n, chosen)
            case "thaw" if self.model.freezes:
                self.thaw(n, n % 2 == 0)

    @precondition(lambda self: self.model.drained or self.model.freezes or any(it.drained for it in self.model.workers.values()))
    @rule()
    def open_all(self) -> None:
        self.steer_everything(False)
        for number in list(self.model.freezes):
            self.engine.rows("select lanework.thaw(%s, 'me')", number)
        self.model.freezes.clear()
        for worker in self.model.workers.values():
            if worker.alive and worker.drained:
                assert self.engine.one("select lanework.resume_worker(%s, 'me')", worker.id) == "active"
                worker.drained = False

    def steer_worker(self, n: int, drain: bool) -> None:
        worker, before = self.worker(n), self.audit_rows()
        try:
            answer = self.engine.one(f"select lanework.{'drain' if drain else 'resume'}_worker(%s, 'me')", worker.id)
        except psycopg.Error as error:
            assert error.sqlstate == "LW504" and not worker.alive
            self.acted(before, 0)
            return
        assert worker.alive and answer == ("draining" if drain else "active")
        self.acted(before, drain is not worker.drained)
        worker.drained = drain

    def steer_everything(self, drain: bool) -> None:
        before = self.audit_rows()
        changed = self.engine.one(f"select lanework.{'drain' if drain else 'resume'}_all('me')")
        assert changed is (drain is not self.model.drained)
        self.acted(before, changed)
        self.model.drained = drain

    def freeze(self, chosen: list[str], seconds: int) -> None:
        before = self.audit_rows()
        number = self.engine.one("select lanework.freeze(%s, 'me', '', %s)", chosen, seconds)
        self.model.freezes[number] = Freeze(tuple(chosen), until=self.model.now + seconds)
        self.acted(before, 1)

    def freeze_inside(self, n: int, chosen: list[str]) -> None:
        """By any claim ever given: its hold lasts as long as it."""
        _, claim = self.claims[-1 - n % len(self.claims)]
        try:
            number = self.engine.one("select lanework.freeze_for(%s, %s, %s, %s, '')", *claim, chosen)
        except psycopg.Error as error:
            refused = {"LW400": not self.model.holds(claim), "LW506": self.model.holds(claim) and self.would_wait(claim, chosen)}
            assert refused.get(str(error.sqlstate)), error
            return
        assert self.model.holds(claim) and not self.would_wait(claim, chosen)
        self.model.freezes[number] = Freeze(tuple(chosen), claim=claim)

    def would_wait(self, claim: Claim, chosen: list[str]) -> bool:
        """Another job holds my lane, and runs in one that I would hold."""
        mine = self.lane_of[claim.id]
        others = [f for f in self.model.freezes.values() if f.claim and f.claim.id != claim.id and self.model.holds(f.claim)]
        return any(mine in f.lanes and f.claim is not None and self.lane_of[f.claim.id] in chosen for f in others)

    def thaw(self, n: int, sweep: bool) -> None:
        if sweep:
            self.engine.rows("select lanework.end_freezes()")
            self.model.freezes = {number: one for number, one in self.model.freezes.items() if self.model.is_held(one)}
            return
        number = list(self.model.freezes)[n % len(self.model.freezes)]
        assert self.engine.one("select lanework.thaw(%s, 'me')", number) == sorted(self.model.freezes.pop(number).lanes)

    @invariant()
    def lanes_are_held_by_those_who_hold_them(self) -> None:
        rows = self.engine.rows(
            "select name, lanework.held_by(name) <> '{}' as held from lanework.lanes where name = any (%s)", list(NAMES)
        )
        assert {row["name"]: row["held"] for row in rows} == {name: self.model.held(name) for name in self.model.lanes}
