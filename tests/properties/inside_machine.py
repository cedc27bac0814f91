"""A state machine of what jobs do from the inside: steps, children, sessions and blocked jobs, on the real SQL.

The model is small: which claim holds which job, what each step was when it was stored, and who belongs to whom. Every claim ever
given is kept and writes again, whoever has superseded it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.sql.engine import Claim, Engine
from tests.sql.proof import complaints, move, wipe

SESSIONS = ("s", "t")
NAMES = ("a", "b", "c")
STEPS = ("fetch", "part[0:1]", "part[1:1]", "sum")
LIVE = "select id, status::text, session, parent, blocked_on from lanework.jobs order by id"
pick = st.integers(0, 10**6)


@dataclass
class Member:
    """A job as the machine knows it."""

    id: int
    session: str | None = None
    parent: int | None = None
    steps: dict[str, Any] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    children: dict[str, int] = field(default_factory=dict)


class InsideMachine(RuleBasedStateMachine):
    def __init__(self, engines: list[Engine]) -> None:
        super().__init__()
        self.engine, self.other = engines[:2]
        wipe(self.engine, frozen=True)
        self.jobs: dict[int, Member] = {}
        self.holder: dict[int, Claim] = {}  # the claim that holds a running job
        self.claims: list[Claim] = []
        self.waiting: set[int] = set()
        self.values = itertools.count(1)

    def teardown(self) -> None:
        assert complaints(self.engine) == []

    @initialize(sessions=st.lists(st.sampled_from([*SESSIONS, None]), min_size=2, max_size=6))
    def start(self, sessions: list[str | None]) -> None:
        self.lane = self.engine.lane("work", None)
        self.type = self.engine.type("job", "work", max_tries=100)
        self.worker = self.engine.worker()
        for session in sessions:
            self.submit(session, None)

    # -- what is read ----------------------------------------------------------------------------------------------------

    def live(self) -> dict[int, dict[str, Any]]:
        return {row["id"]: row for row in self.engine.rows(LIVE)}

    def any_claim(self, n: int) -> Claim:
        """Mostly one that holds; now and then any that was ever given."""
        return self.held(n) if self.holder and n % 3 else self.claims[n % len(self.claims)]

    def held(self, n: int) -> Claim:
        return list(self.holder.values())[n % len(self.holder)]

    def holds(self, claim: Claim) -> bool:
        return self.holder.get(claim.id) == claim

    # -- submitting ------------------------------------------------------------------------------------------------------

    @rule(session=st.sampled_from([*SESSIONS, *SESSIONS, None]), delay=st.sampled_from([None, None, 3]))
    def submit(self, session: str | None, delay: int | None) -> None:
        run_at = None if delay is None else self.engine.one("select lanework.now() + %s * interval '1 s'", delay)
        job = self.engine.enqueue("job", session=session, run_at=run_at)
        self.jobs[job] = Member(job, session)

    @rule(session=st.sampled_from(SESSIONS))
    def promote_session(self, session: str) -> None:
        """What follows a submit, and may come late or never."""
        self.engine.rows("select lanework.promote_sessions(%s)", [session])
        self.no_idle_session(session)

    @precondition(lambda self: any(job.steps for job in self.jobs.values()))
    @rule(n=pick, cut=st.booleans())
    def go_on(self, n: int, cut: bool) -> None:
        """A job that continues another: it has the steps before the named one, as they were."""
        live = self.live()
        candidates = [job for job in self.jobs.values() if job.steps]
        ended = [job for job in candidates if job.id not in live]
        old = ended[n % len(ended)] if ended and n % 4 else candidates[n % len(candidates)]
        name = old.order[n % len(old.order)].partition("[")[0] if cut else None
        try:
            job = self.engine.enqueue("job", continues=old.id, from_step=name)
        except psycopg.Error as error:
            assert error.sqlstate == "LW300" and old.id in live, error
            return
        assert old.id not in live, "continues a job that has not ended"
        first = next((i for i, key in enumerate(old.order) if key.partition("[")[0] == name), len(old.order))
        kept = old.order[:first]
        self.jobs[job] = Member(job, steps={key: old.steps[key] for key in kept}, order=kept)

    # -- running ---------------------------------------------------------------------------------------------------------

    @rule(want=st.integers(1, 4))
    def claim(self, want: int) -> None:
        before = self.live()
        for claim in self.engine.claim(self.worker, self.lane, self.type, want=want, used=len(self.holder)):
            assert before[claim.id]["status"] == "approved"
            assert claim.id not in self.holder, "claimed while it runs"
            self.comes_after_its_session(claim.id, before)
            self.holder[claim.id] = claim
            self.claims.append(claim)

    def comes_after_its_session(self, job: int, live: dict[int, dict[str, Any]]) -> None:
        session = self.jobs[job].session
        earlier = [i for i, row in live.items() if session is not None and row["session"] == session and i < job]
        assert earlier == [], f"job {job} of session {session} started before {earlier}"

    @precondition(lambda self: self.claims)
    @rule(n=pick, key=st.sampled_from(STEPS))
    def save_step(self, n: int, key: str) -> None:
        """Twice, as a step that was stored by an attempt whose successor never heard of it."""
        for _ in range(2):
            self.save_as(self.any_claim(n), key, next(self.values))

    def save_as(self, claim: Claim, key: str, value: int) -> None:
        accepted = self.engine.one("select lanework.save_step(%s, %s, %s, %s, %s, null)", *claim, key, json.dumps(value))
        assert accepted is self.holds(claim)
        job = self.jobs[claim.id]
        if accepted and key not in job.steps:
            job.steps[key] = value
            job.order.append(key)

    @precondition(lambda self: self.claims)
    @rule(n=pick, names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
          session=st.sampled_from([None, None, "u"]), delay=st.sampled_from([None, None, 3.0]))  # fmt: skip
    def submit_children(self, n: int, names: list[str], session: str | None, delay: float | None) -> None:
        self.submit_as(self.any_claim(n), names, session, delay)

    def submit_as(self, claim: Claim, names: list[str], session: str | None, delay: float | None) -> None:
        try:
            rows = self.engine.rows(
                "select * from lanework.submit_children(%s, %s, %s, %s::text[], 'job', %s::text[], 1, null, %s, null, %s)",
                *claim, names, ["{}"] * len(names), delay, session)  # fmt: skip
        except psycopg.Error as error:
            refused = {"LW304": True, "LW400": not self.holds(claim), "LW300": session == self.jobs[claim.id].session}
            assert refused.get(str(error.sqlstate)), error
            return
        assert self.holds(claim), "children of a superseded attempt"
        known = self.jobs[claim.id].children
        assert {row["name"] for row in rows} == set(names)
        for row in rows:
            child = known.setdefault(row["name"], row["child_id"])
            assert child == row["child_id"], f"{row['name']} was submitted twice"
            self.jobs.setdefault(child, Member(child, session, claim.id))

    @precondition(lambda self: self.holder)
    @rule(n=pick, names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True), late=st.booleans())
    def fan_out(self, n: int, names: list[str], late: bool) -> None:
        """As most parents do: children, and a wait for them."""
        claim = self.held(n)
        self.submit_as(claim, names, None, 3.0 if late else None)
        self.settle_as(claim, "wait")
        if session := self.jobs[claim.id].session:
            self.submit(session, None)
            self.promote_session(session)

    # -- ending ----------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.claims)
    @rule(n=pick)
    def complete(self, n: int) -> None:
        claim = self.any_claim(n)
        assert self.engine.completed(self.worker, claim) == self.holds(claim)
        self.let_go(claim)

    @precondition(lambda self: self.claims)
    @rule(n=pick, how=st.sampled_from(["wait", "wait", "wait", "fail", "cancel", "partial", "retry", "snooze", "release"]))
    def settle(self, n: int, how: str) -> None:
        self.settle_as(self.any_claim(n), how)

    def settle_as(self, claim: Claim, how: str) -> None:
        family = [row for row in self.live().values() if row["parent"] == claim.id]
        stopped = self.engine.rows("select job_id from lanework.stops where job_id = %s and kind = 'cancel'", claim.id)
        verdict: dict[str, Any] = {"delay_s": 3.0} if how == "snooze" else {}
        if how == "partial":
            verdict = {"result": 1, "errors": [{"item": "part[0]", "error": "no"}]}
        action = "complete" if how == "partial" else how
        got = self.engine.settle(self.worker, claim, action=action, **verdict)
        assert (claim.id in got) is self.holds(claim)
        if claim.id in got and not stopped:
            expected = {"fail": "failed", "cancel": "cancelled", "partial": "completed", "snooze": "scheduled"}
            expected["wait"] = "blocked" if family else "approved"
            assert got[claim.id] == expected.get(how, "approved"), (got, how, family)
            if got[claim.id] == "blocked":
                self.waiting.add(claim.id)
        self.let_go(claim)

    def let_go(self, claim: Claim) -> None:
        if self.holds(claim):
            del self.holder[claim.id]

    @rule(n=pick)
    def cancel(self, n: int) -> None:
        job = list(self.jobs)[n % len(self.jobs)]
        running = job in self.holder
        answer = self.engine.cancel(job)
        assert (answer == "stopping") is running
        if answer == "cancelled":
            self.nothing_waits_below(job)

    @precondition(lambda self: any(row["blocked_on"] == "children" for row in self.live().values()))
    @rule(n=pick)
    def cancel_a_family(self, n: int) -> None:
        parents = [i for i, row in self.live().items() if row["blocked_on"] == "children"]
        assert self.engine.cancel(parents[n % len(parents)]) == "cancelled"
        self.nothing_waits_below(parents[n % len(parents)])

    def nothing_waits_below(self, job: int) -> None:
        """A cancel flows down: what waits ends with it, what runs is asked to."""
        asked = {row["job_id"] for row in self.engine.rows("select job_id from lanework.stops where kind = 'cancel'")}
        below = [row for row in self.live().values() if row["parent"] == job]
        assert [row for row in below if row["id"] not in asked] == []
        assert {row["status"] for row in below} <= {"running"}

    @rule()
    def worker_dies(self) -> None:
        given, left = self.engine.end_worker(self.worker)
        assert (given, left) == (len(self.holder), 0)
        self.holder.clear()
        self.worker = self.engine.worker()

    # -- upkeep ----------------------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1, 4]))
    def time_passes(self, seconds: int) -> None:
        move(self.engine, seconds=seconds)
        self.engine.promote()

    @rule()
    def sweep(self) -> None:
        self.engine.sweep()
        for session in (*SESSIONS, "u"):
            self.no_idle_session(session)
        self.nobody_waits_for_nothing()
        for row in self.engine.rows("select id from lanework.jobs_done where status = 'cancelled'"):
            self.nothing_waits_below(row["id"])

    @rule()
    def work(self) -> None:
        """Everything that may run runs and completes, once."""
        self.claim(4)
        for claim in list(self.holder.values()):
            assert self.engine.completed(self.worker, claim) == 1
            self.let_go(claim)

    @precondition(lambda self: self.waiting_parents())
    @rule(n=pick)
    def miss_a_wake_up(self, n: int) -> None:
        """Somebody has the parent's row locked while its children end: nobody waits, and the sweep finds it."""
        parents = self.waiting_parents()
        parent = parents[n % len(parents)]
        with self.locked(parent):
            for claim in [claim for claim in self.holder.values() if self.jobs[claim.id].parent == parent]:
                assert self.engine.completed(self.worker, claim) == 1
                self.let_go(claim)
        self.sweep()

    @contextmanager
    def locked(self, job: int) -> Iterator[None]:
        """For longer than anybody waits, which is not long here."""
        self.engine.rows("alter function lanework.wake_parents set lock_timeout = '10ms'")
        try:
            with self.other.db.transaction():
                self.other.rows("select id from lanework.jobs where id = %s for share", job)
                yield
        finally:
            self.engine.rows("alter function lanework.wake_parents set lock_timeout = '1s'")

    def waiting_parents(self) -> list[int]:
        """Those that wait for children of which some run and none is queued: the next finishes are the last."""
        live = self.live()
        blocked = [i for i, row in live.items() if row["blocked_on"] == "children"]
        return [i for i in blocked if all(row["status"] == "running" for row in live.values() if row["parent"] == i)]

    def no_idle_session(self, session: str) -> None:
        members = [row for row in self.live().values() if row["session"] == session]
        assert not members or any(_active(row) for row in members), f"session {session} stands still"

    def nobody_waits_for_nothing(self) -> None:
        live = self.live()
        parents = {row["parent"] for row in live.values()}
        assert [i for i, row in live.items() if row["blocked_on"] == "children" and i not in parents] == []

    # -- what holds after every step ----------------------------------------------------------------------------------------

    @invariant()
    def one_member_of_a_session_is_active(self) -> None:
        active = [row["session"] for row in self.live().values() if row["session"] and _active(row)]
        assert len(active) == len(set(active)), active

    @invariant()
    def parents_wait_for_somebody(self) -> None:
        """Nobody else is at work between two rules, so no wake-up is missed but where a rule makes it so; and none is early."""
        self.nobody_waits_for_nothing()
        live = self.live()
        awake = {i for i in self.waiting if i not in live or live[i]["status"] != "blocked"}
        early = {row["parent"] for row in live.values()} & awake & live.keys()
        assert early == set(), f"woken while children live: {early}"
        self.waiting -= awake

    @invariant()
    def blocked_jobs_say_why(self) -> None:
        for row in self.live().values():
            assert (row["status"] == "blocked") is (row["blocked_on"] is not None)
            if row["blocked_on"] == "session":
                assert row["session"] is not None

    @invariant()
    def running_is_what_holds_a_claim(self) -> None:
        assert {i for i, row in self.live().items() if row["status"] == "running"} == set(self.holder)

    @invariant()
    def steps_never_change(self) -> None:
        rows = self.engine.rows("select job_id, key, result from lanework.steps order by job_id, seq")
        stored = {job: [(r["key"], r["result"]) for r in group] for job, group in itertools.groupby(rows, lambda r: r["job_id"])}
        assert stored == {job.id: [(key, job.steps[key]) for key in job.order] for job in self.jobs.values() if job.steps}

    @invariant()
    def families_are_as_submitted(self) -> None:
        rows = self.engine.rows("select parent_id, name, child_id from lanework.children")
        assert len(rows) == len({row["child_id"] for row in rows})
        found = {(row["parent_id"], row["name"]): row["child_id"] for row in rows}
        assert found == {(job.id, name): child for job in self.jobs.values() for name, child in job.children.items()}
        everybody = self.engine.rows(
            "select id, parent from lanework.jobs union all select id, parent from lanework.jobs_done"
            " union all select id, parent from lanework.jobs_failed"
        )
        assert {row["id"]: row["parent"] for row in everybody} == {job.id: job.parent for job in self.jobs.values()}


def _active(row: dict[str, Any]) -> bool:
    return row["status"] in ("approved", "running", "scheduled") or row["blocked_on"] == "children"
