"""A state machine of the engine: every rule calls the real SQL and the model, and they must agree.

Every claim ever given is kept and tried again by `write`, whoever has superseded it: zombies for free.
"""

from __future__ import annotations

import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from tests.properties.acts import Acts
from tests.properties.model import FINAL, GAP, Job, Kind, Lane, Model, Worker
from tests.sql.engine import Claim, Engine, numbers
from tests.sql.proof import complaints, move, wipe

LANES, KINDS = ("a", "b"), ("x", "y", "z")
pick = st.integers(0, 10**6)
VERDICTS = ("retry", "retry later", "snooze", "release", "loss", "fail", "cancel")


class Machine(Acts):
    def __init__(self, engines: list[Engine]) -> None:
        super().__init__()
        self.engines, self.engine = engines, engines[0]
        wipe(self.engine, frozen=True)
        self.model = Model()
        self.claims: list[tuple[int, Claim]] = []
        self.lane_of: dict[int, str] = {}

    def teardown(self) -> None:
        assert complaints(self.engine) == []

    @initialize(slots=st.lists(st.sampled_from([1, 2, 3, None]), min_size=2, max_size=2), limit=st.sampled_from([1, 2]),
                jobs=st.lists(st.sampled_from(KINDS), min_size=2, max_size=8))  # fmt: skip
    def start(self, slots: list[int | None], limit: int, jobs: list[str]) -> None:
        for name, n in zip(LANES, slots, strict=True):
            self.model.lanes[name] = Lane(self.engine.lane(name, n), n)
        for name, lane, concurrency in (("x", "a", None), ("y", "a", limit), ("z", "b", None)):
            self.model.kinds[name] = Kind(self.engine.type(name, lane, concurrency=concurrency), lane, concurrency)
        self.more_kinds()
        self.new_worker()
        for n, kind in enumerate(jobs):
            self.submit(kind, n % 2, None, None, None, "pq"[n % 2])

    def more_kinds(self) -> None:
        """For machines that know more than this one."""

    def submitted(self, job: Job) -> None:
        """For machines that know more than this one."""

    def on(self, worker: Worker) -> Engine:
        return self.engines[worker.id % len(self.engines)]

    def worker(self, n: int) -> Worker:
        """One of the living, or now and then a dead one that still acts."""
        workers = list(self.model.workers.values())
        living = [worker for worker in workers if worker.alive]
        return workers[n % len(workers)] if n % 6 == 0 or not living else living[n % len(living)]

    def bodies(self, worker: Worker, lane: str | None = None) -> list[Job]:
        """What this worker believes to run."""
        known = [c for no in worker.known for c in worker.claims.get(no, [])]
        jobs = [self.model.jobs[c.id] for c in known if self.model.holds(c)]
        return [j for j in jobs if lane is None or self.lane_of[j.id] == lane]

    # jobs

    @rule(kind=st.sampled_from(KINDS), priority=st.sampled_from([0, 0, 5, -1]), delay=st.sampled_from([None, None, 2, 90]),
          age=st.sampled_from([None, None, 30]), key=st.sampled_from([None, None, None, "k", "l"]),
          body=st.sampled_from("pq"))  # fmt: skip
    def submit(self, kind: str, priority: int, delay: float | None, age: float | None, key: str | None, body: str) -> None:
        run_at = None if delay is None else self.time(delay)
        asked, tries = f"{kind} {body}", 1 if body == "q" else 2
        known = self.model.keys.get(key or "")
        try:
            job = self.engine.enqueue(
                kind, {"body": body}, priority=priority, run_at=run_at, idempotency_key=key, max_tries=tries,
                max_age=None if age is None else timedelta(seconds=age))  # fmt: skip
        except psycopg.Error as error:
            assert error.sqlstate == "LW302" and known and known[0] != asked
            return
        if known:
            assert known == (asked, job)
            return
        now = self.model.now
        self.model.jobs[job] = Job(
            job, kind, -priority, now, tries, "scheduled" if delay else "approved", None if delay is None else now + delay,
            None if age is None else now + age)  # fmt: skip
        self.submitted(self.model.jobs[job])
        if key:
            self.model.keys[key] = (asked, job)

    @rule()
    def upkeep(self) -> None:
        assert self.engine.promote() == self.model.promote()
        assert self.engine.sweep() == self.model.sweep()

    @rule(seconds=st.sampled_from([0.25, 0.75, 1.5, 6, 40, 2000]))
    def time_passes(self, seconds: float) -> None:
        move(self.engine, seconds=seconds)
        self.model.now += seconds

    def time(self, offset: float) -> Any:
        return self.engine.one("select lanework.now() + %s", timedelta(seconds=offset))

    # claims

    @rule(n=pick, lane=st.sampled_from(LANES), kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique=True),
          want=st.integers(1, 4), lost=st.sampled_from([False, False, False, True]), ends=st.integers(0, 2))  # fmt: skip
    def claim(self, n: int, lane: str, kinds: list[str], want: int, lost: bool, ends: int) -> None:
        """Finishes some and claims, in one call. With `lost` the worker never learns the answer."""
        worker, model = self.worker(n), self.model
        held = self.bodies(worker, lane)
        done = [j.claim for j in held[:ends] if j.claim]
        left = held[len(done) :]
        unanswered = sum(count for name, count in worker.limbo.values() if name == lane)
        if worker.limbo:  # it cannot know of which kind they were
            kinds = [k for k in kinds if model.kinds[k].concurrency is None] or ["x"]
        capped = [k for k in KINDS if model.kinds[k].concurrency is not None and not worker.limbo]
        running = Counter(j.kind for j in self.bodies(worker) if j.claim not in done)
        used = len(left) + unanswered
        no, claim_id = next(numbers), uuid.uuid4()
        try:
            rows = self.on(worker).claim_rows(
                worker.id, model.lanes[lane].id, *(model.kinds[k].id for k in kinds), no=no, claim_id=claim_id, want=want,
                used=used, capped={model.kinds[k].id: running[k] for k in capped}, done=done or None)  # fmt: skip
        except psycopg.Error as error:
            assert error.sqlstate == "LW401" and not worker.alive
            return
        assert worker.alive, "a claim of a dead worker"
        for claim in done:
            assert model.complete(claim)
        model.lane_use[lane, worker.id] = used
        for kind in capped:
            model.kind_use[kind, worker.id] = running[kind]
        free = model.free(lane, worker.id, used, want)
        expected = model.eligible(lane, kinds, worker.id, running)[: max(free, 0)]
        got = sorted((row["id"] for row in rows), key=lambda job: model.jobs[job].place)
        assert got == [job.id for job in expected][: len(got)] and bool(got) == bool(expected), (got, expected)
        self.took(worker, lane, no, [Claim(row["id"], row["attempt"], claim_id) for row in rows], used, lost, want)

    @rule(n=pick, lane=st.sampled_from(LANES), want=st.integers(1, 4))
    def claim_anything(self, n: int, lane: str, want: int) -> None:
        """As most claims are: all kinds, answered."""
        self.claim(n, lane, list(KINDS), want, False, 0)

    def took(self, worker: Worker, lane: str, no: int, claims: list[Claim], used: int, lost: bool, want: int) -> None:
        for claim in claims:
            self.model.claimed(self.model.jobs[claim.id], worker.id, claim)
            self.lane_of[claim.id] = lane
            kind = self.model.jobs[claim.id].kind
            if self.model.kinds[kind].concurrency is not None:
                self.model.kind_use[kind, worker.id] = self.model.kind_use.get((kind, worker.id), 0) + 1
        self.claims += [(worker.id, claim) for claim in claims]
        if claims:
            self.model.lane_use[lane, worker.id] = used + len(claims)
            worker.claims[no] = claims
        if lost:
            worker.limbo[no] = (lane, want)
        elif claims:
            worker.known.add(no)

    @precondition(lambda self: self.claims)
    @rule(n=pick, how=st.sampled_from(["completed", "progress", "log", "checkpoint", *VERDICTS]))
    def write(self, n: int, how: str) -> None:
        """Any claim ever given writes: accepted if it holds, refused if it does not."""
        self.write_for(*self.claims[-1 - n % len(self.claims)], how)

    def write_for(self, worker: int, claim: Claim, how: str) -> None:
        engine, holds = self.engines[claim.attempt % 3], self.model.holds(claim)
        if how == "completed":
            assert engine.completed(worker, claim) == self.model.complete(claim)
        elif how == "checkpoint":
            assert engine.checkpoint(claim) is holds
        elif how in ("progress", "log"):
            assert getattr(engine, how)(claim) == ({claim.id} if holds else set())
            if how == "progress" and holds:
                self.model.jobs[claim.id].progress = (claim.attempt, self.model.now)
        else:
            self.settle(engine, worker, claim, how)

    @precondition(lambda self: any(not self.model.holds(claim) for _, claim in self.claims))
    @rule(n=pick)
    def haunt(self, n: int) -> None:
        """A claim that holds no longer, of a job that is running again if there is one, tries everything."""
        old = [(worker, claim) for worker, claim in self.claims if not self.model.holds(claim)]
        awake = [item for item in old if self.model.jobs[item[1].id].status == "running"] or old
        for how in ("progress", "log", "checkpoint", "completed", "release", "fail"):
            self.write_for(*awake[n % len(awake)], how)

    def settle(self, engine: Engine, worker: int, claim: Claim, how: str) -> None:
        action = {"retry later": "retry", "loss": "release"}.get(how, how)
        delay = 3.0 if how in ("retry later", "snooze") else 0.0
        uses_try = action in ("retry", "fail")
        got = engine.settle(worker, claim, action=action, uses_try=uses_try, delay_s=delay, loss=how == "loss")
        expected = self.model.settle(claim, action, uses_try, delay, how == "loss")
        assert got == ({claim.id: expected} if expected else {})

    # workers

    def new_worker(self) -> None:
        now = self.model.now
        worker = self.engine.worker()
        self.model.workers[worker] = Worker(worker, now, now)

    @rule(n=pick, forget=st.booleans())
    def beat(self, n: int, forget: bool) -> None:
        worker, model = self.worker(n), self.model
        if forget and worker.known:
            worker.known.discard(max(worker.known))
        answer = self.on(worker).beat(worker.id, open=sorted(worker.known), gap=f"{GAP} s")
        if not worker.alive:
            assert [row["kind"] for row in answer] == ["retired"]
            return
        worker.steady = model.now if worker.seen < model.now - GAP else worker.steady
        worker.seen = model.now
        model.give_back(worker, [no for no in worker.claims if no not in worker.known])
        worker.limbo.clear()
        stops = {(j.stop, j.id) for j in model.jobs.values() if j.status == "running" and j.worker == worker.id and j.stop}
        assert {(row["kind"], row["job_id"]) for row in answer} == stops

    @rule(n=pick, state=st.sampled_from(["dead", "stopped"]))
    def end_worker(self, n: int, state: str) -> None:
        """It dies, is seen dead, and another one starts."""
        worker = self.worker(n)
        assert self.engine.end_worker(worker.id, state) == (self.model.end(worker), 0)
        self.new_worker()

    @rule(n=pick)
    def silence(self, n: int) -> None:
        """One worker beats on, for longer than an expiry, and reaps; the others are silent or have beaten on their own."""
        for _ in range(4):
            self.time_passes(0.5)
            self.beat(n, False)
        self.lead(n)
        self.reap(n)

    def reap(self, n: int) -> None:
        reaper = self.worker(n)
        silent = self.model.silent(reaper)
        assert self.on(reaper).reap(reaper.id) == {w.id for w in silent}
        for worker in silent:
            self.model.end(worker)

    def lead(self, n: int) -> None:
        worker, model = self.worker(n), self.model
        free = model.leader is None or model.leader[0] == worker.id or model.leader[1] < model.now
        assert self.on(worker).lead(worker.id) is (free and worker.alive)
        if free and worker.alive:
            model.leader = (worker.id, model.now + 10)

    # dead letters

    @precondition(lambda self: any(job.status == "failed" for job in self.model.jobs.values()))
    @rule(n=pick)
    def retry(self, n: int) -> None:
        """One of the dead, or now and then any job: only the dead come back."""
        jobs = list(self.model.jobs.values())
        dead = [job for job in jobs if job.status == "failed"]
        job = jobs[n % len(jobs)] if n % 4 == 0 else dead[n % len(dead)]
        try:
            status = self.engine.one("select lanework.retry(%s, 'ada')", job.id)
        except psycopg.Error as error:
            assert error.sqlstate == "LW510" and job.status != "failed", error
            return
        assert job.status == "failed", f"job {job.id} came back though it was {job.status}"
        self.model.retry(job)
        assert status == job.status

    @precondition(lambda self: self.model.redrive is None and any(job.status == "failed" for job in self.model.jobs.values()))
    @rule(n=pick, canary=st.booleans())
    def start_redrive(self, n: int, canary: bool) -> None:
        kinds = sorted({job.kind for job in self.model.jobs.values() if job.status == "failed"})
        kind = kinds[n % len(kinds)]
        rows = self.engine.rows("select id from lanework.jobs_failed where type_id = %s order by letter", self.model.kinds[kind].id)
        members = [row["id"] for row in rows]
        number = self.engine.one(
            "select lanework.start_redrive(jsonb_build_object('type', %s::text), %s, null, 'ada')", kind, canary
        )
        self.model.start_redrive(number, members, canary)

    @precondition(lambda self: self.model.redrive is not None)
    @rule()
    def carry_redrive(self) -> None:
        assert self.model.redrive is not None
        self.engine.one("select lanework.carry_redrives()")
        state = self.engine.one("select state from lanework.redrives where id = %s", self.model.redrive.id)
        assert state == self.model.carry()
        if state in ("done", "failed"):
            self.model.redrive = None

    @rule(n=pick, lane=st.sampled_from(LANES), canary=st.booleans(), how=st.sampled_from(["fail", "fail", "completed"]))
    def die_and_return(self, n: int, lane: str, canary: bool, how: str) -> None:
        """As an operator has it: some die, are sent back, and end as they may."""
        self.run_all(n, lane, "fail")
        if self.model.redrive is None and any(job.status == "failed" for job in self.model.jobs.values()):
            self.start_redrive(n, canary)
        self.run_all(n, lane, how)
        if self.model.redrive is not None:
            self.carry_redrive()

    def run_all(self, n: int, lane: str, how: str) -> None:
        self.claim_anything(n, lane, 4)
        worker = self.worker(n)
        for job in self.bodies(worker, lane):
            assert job.claim is not None
            self.write_for(worker.id, job.claim, how)

    # operators

    @rule(name=st.sampled_from(LANES), slots=st.sampled_from([1, 1, 2, 3, None, 0]), own=st.sampled_from([None, None, 1]),
          enabled=st.sampled_from([True, True, True, False]), kind=st.sampled_from([None, None, *KINDS]))  # fmt: skip
    def change_lane(self, name: str, slots: int | None, own: int | None, enabled: bool, kind: str | None) -> None:
        lane = self.model.lanes[name]
        lane.slots, lane.worker_slots, lane.enabled = slots, own, enabled
        self.engine.rows(
            "update lanework.lanes set max_slots = %s, worker_slots = %s, enabled = %s where name = %s", slots, own, enabled, name
        )
        if kind:
            self.model.kinds[kind].lane = name
            self.engine.rows("update lanework.job_types set lane = %s where name = %s", name, kind)

    # what holds after every step

    @invariant()
    def the_database_agrees(self) -> None:
        rows = self.engine.rows(
            """select id, status::text, attempt, tries_used, claim_id from lanework.jobs
               union all select id, status::text, attempt, tries_used, claim_id from lanework.jobs_done
               union all select id, status::text, attempt, tries_used, claim_id from lanework.jobs_failed
               order by 1"""
        )
        stored = [
            (r["id"], r["status"], r["attempt"], r["tries_used"], r["claim_id"] if r["status"] == "running" else None) for r in rows
        ]
        assert stored == [
            (j.id, j.status, j.attempt, j.tries, j.claim.claim_id if j.status == "running" and j.claim else None)
            for j in self.model.jobs.values()
        ]

    @invariant()
    def slots_are_counted(self) -> None:
        rows = self.engine.rows(
            "select l.name, u.worker_id, u.used from lanework.lane_use u join lanework.lanes l on l.id = u.lane_id"
        )
        assert {(r["name"], r["worker_id"]): r["used"] for r in rows} == self.model.lane_use
        stops = {r["job_id"]: r["kind"] for r in self.engine.rows("select job_id, kind from lanework.stops")}
        assert stops == {j.id: j.stop for j in self.model.jobs.values() if j.stop and j.status not in FINAL}
