"""What the engine should do, in plain Python: one thread, no database, time as a number of seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from tests.sql.engine import Claim

Status = Literal["pending", "awaiting_approval", "approved", "scheduled", "running", "completed", "failed", "cancelled"]
FINAL = ("completed", "failed", "cancelled")
TTL, GAP, STALE = 1.0, 5.0, 1800.0
DAY, DEAR = 86_400.0, 5.0


@dataclass
class Job:
    id: int
    kind: str
    rank: int
    created: float
    max_tries: int
    status: Status
    run_at: float | None = None
    deadline: float | None = None
    attempt: int = 0
    tries: int = 0
    losses: int = 0
    claim: Claim | None = None
    worker: int = 0
    stop: str | None = None
    progress: tuple[int, float] | None = None
    claimed: float = 0.0
    asked: float | None = None  # since when it waits for an approval
    estimate: float | None = None  # what its estimate says, for a job that is one
    hashes: list[str] = field(default_factory=list)  # what it was before, and is
    deaths: int = 0
    agreed: bool = False  # somebody has approved what it is
    cheap: bool | None = None  # what its estimate has said of what it is; None: there is none
    own_tries: int = 0  # of one that was sent ahead with a single try

    @property
    def place(self) -> tuple[int, float, int]:
        return self.rank, self.created, self.id


@dataclass
class Worker:
    id: int
    seen: float
    steady: float
    alive: bool = True
    drained: bool = False
    claims: dict[int, list[Claim]] = field(default_factory=dict)  # what the database has written down
    known: set[int] = field(default_factory=set)  # the numbers of those that the worker knows
    limbo: dict[int, tuple[str, int]] = field(default_factory=dict)  # asked for, and never answered: lane and how many


@dataclass
class Lane:
    id: int
    slots: int | None
    worker_slots: int | None = None
    enabled: bool = True


@dataclass
class Freeze:
    """Held until a moment, or for as long as a claim holds."""

    lanes: tuple[str, ...]
    until: float | None = None
    claim: Claim | None = None


@dataclass
class Kind:
    id: int
    lane: str
    concurrency: int | None = None


@dataclass
class Redrive:
    id: int
    members: dict[int, int]  # in the order of their deaths; a job that has died again since is none any more
    canary: int | None


@dataclass
class Model:
    lanes: dict[str, Lane] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    jobs: dict[int, Job] = field(default_factory=dict)
    workers: dict[int, Worker] = field(default_factory=dict)
    lane_use: dict[tuple[str, int], int] = field(default_factory=dict)
    kind_use: dict[tuple[str, int], int] = field(default_factory=dict)
    keys: dict[str, tuple[str, int]] = field(default_factory=dict)
    freezes: dict[int, Freeze] = field(default_factory=dict)
    drained: bool = False
    pairs: dict[int, int] = field(default_factory=dict)  # the estimating job → the job that it is for
    leader: tuple[int, float] | None = None
    redrive: Redrive | None = None
    now: float = 0.0
    came_back: Callable[[Job], None] = lambda job: None  # a dead letter may have to wait for its approval again

    # claiming

    def free(self, lane: str, worker: int, used: int, want: int) -> int:
        row = self.lanes[lane]
        others = sum(n for (name, other), n in self.lane_use.items() if name == lane and other != worker)
        limits = [want]
        limits += [row.worker_slots - used] if row.worker_slots is not None else []
        limits += [row.slots - used - others] if row.slots is not None else []
        closed = not row.enabled or self.held(lane) or self.workers[worker].drained
        return 0 if closed else min(limits)

    def held(self, lane: str) -> bool:
        return self.drained or any(lane in freeze.lanes and self.is_held(freeze) for freeze in self.freezes.values())

    def is_held(self, freeze: Freeze) -> bool:
        return freeze.until > self.now if freeze.until is not None else freeze.claim is not None and self.holds(freeze.claim)

    def eligible(self, lane: str, kinds: list[str], worker: int, used: dict[str, int]) -> list[Job]:
        """In the order in which they may start; those over the limit of their kind are passed over."""
        room: dict[str, int | None] = {}
        for name in kinds:
            kind = self.kinds[name]
            others = sum(n for (k, other), n in self.kind_use.items() if k == name and other != worker)
            room[name] = None if kind.concurrency is None else kind.concurrency - used.get(name, 0) - others
        waiting = [j for j in self.jobs.values() if j.status == "approved" and j.kind in kinds and self.kinds[j.kind].lane == lane]
        found = []
        for job in sorted(waiting, key=lambda j: j.place):
            left = room[job.kind]
            if left is None or left > 0:
                found.append(job)
                room[job.kind] = None if left is None else left - 1
        return found

    def claimed(self, job: Job, worker: int, claim: Claim) -> None:
        job.status, job.attempt, job.claim = "running", job.attempt + 1, claim
        job.worker, job.claimed, job.run_at = worker, self.now, None
        assert claim.attempt == job.attempt, f"attempt {claim.attempt} of job {job.id}, expected {job.attempt}"

    # ending

    def holds(self, claim: Claim) -> bool:
        job = self.jobs[claim.id]
        return job.status == "running" and job.claim == claim

    def complete(self, claim: Claim) -> bool:
        if not self.holds(claim):
            return False
        job = self.jobs[claim.id]
        job.status, job.stop = "completed", None
        self.ended(job)
        return True

    def settle(self, claim: Claim, action: str, uses_try: bool = False, delay: float = 0, loss: bool = False) -> Status | None:
        if not self.holds(claim):
            return None
        job = self.jobs[claim.id]
        asked = job.stop == "cancel"
        tries, losses = job.tries + uses_try, job.losses + loss
        next_status: Status
        if action == "cancel" or (asked and action != "fail"):
            next_status, tries = "cancelled", job.tries
        elif action == "fail" or losses >= 3 or (action == "retry" and tries >= job.max_tries):
            next_status = "failed"
        else:
            next_status = "scheduled" if delay > 0 else "approved"
        job.status, job.tries, job.losses, job.stop = next_status, tries, losses, None
        job.run_at = self.now + delay if next_status == "scheduled" else None
        job.deaths += next_status == "failed"
        if next_status not in FINAL:
            job.claim = None
        else:
            self.ended(job)
        return next_status

    def give_back(self, worker: Worker, numbers: list[int]) -> int:
        given = [self.settle(claim, "release") for no in numbers for claim in worker.claims.pop(no)]
        return len([status for status in given if status])

    # dead letters

    def retry(self, job: Job, tries: int | None = None) -> None:
        if tries is not None:
            job.own_tries = job.own_tries or job.max_tries
        job.status, job.tries, job.losses, job.claim, job.stop, job.run_at = "approved", 0, 0, None, None, None
        job.max_tries = tries or job.own_tries or job.max_tries
        if job.deadline is not None and job.deadline <= self.now:
            job.deadline = None
        self.came_back(job)

    def start_redrive(self, id: int, members: list[int], canary: bool) -> None:
        self.redrive = Redrive(id, {member: self.jobs[member].deaths for member in members}, members[0] if canary else None)
        if canary:
            self.retry(self.jobs[members[0]], 1)
        else:
            self._flow()

    def carry(self) -> str:
        """The state in which the redrive is after a step."""
        assert self.redrive is not None
        if self.redrive.canary is None:
            self._flow()
            return "done"
        canary = self.jobs[self.redrive.canary]
        if canary.status not in FINAL:
            return "canary"
        if canary.status != "completed":
            return "failed"
        self._flow()
        return "done"

    def _flow(self) -> None:
        assert self.redrive is not None
        left = [self.jobs[id] for id, deaths in self.redrive.members.items() if self.jobs[id].deaths == deaths]
        dead = [job for job in left if job.status == "failed"]
        for job in dead:
            self.retry(job)

    # waiting

    def cancel(self, job: Job) -> str:
        if job.status == "running":
            job.stop = "cancel"
            return "stopping"
        if job.status not in FINAL:
            job.status, job.run_at, job.asked = "cancelled", None, None
            self.ended(job)
        return job.status

    def due(self) -> list[Job]:
        return [j for j in self.jobs.values() if j.status == "scheduled" and j.run_at is not None and j.run_at <= self.now]

    def promote(self) -> int:
        due = self.due()
        for job in due:
            job.status, job.run_at = "approved", None
        return len(due)

    def sweep(self) -> dict[str, int]:
        live = [j for j in self.jobs.values() if j.status not in FINAL]
        over = [j for j in live if j.deadline is not None and j.deadline <= self.now]
        expired = [j for j in over if j.status != "running"]
        for job in expired:
            job.status = "failed"
        for job in expired:
            self.ended(job)
            job.deaths += 1
        overdue = [j for j in over if j.status == "running" and j.stop is None]
        for job in overdue:
            job.stop = "expired"
        stalled = [j for j in live if j.status == "running" and j.stop is None and self._silent(j)]
        for job in stalled:
            job.stop = "stalled"
        counts = {"expired": len(expired), "overdue": len(overdue), "stalled": len(stalled)}
        return {what: count for what, count in counts.items() if count}

    def _silent(self, job: Job) -> bool:
        """Only who has reported in this attempt can fall silent."""
        return job.progress is not None and job.progress[0] == job.attempt and job.progress[1] < self.now - STALE

    # approval

    def gate(self, job: Job, estimate: int | None) -> None:
        """A new or edited job: to its estimate, to whoever approves, or on."""
        if estimate is not None:
            job.status, self.pairs[estimate] = "pending", job.id
            self.jobs[estimate] = Job(estimate, f"{job.kind}:estimate", job.rank, self.now, 3, "approved")
        elif job.kind == "w":
            job.status, job.asked = "awaiting_approval", self.now
        else:
            self.let_go(job)

    def let_go(self, job: Job) -> None:
        later = job.run_at is not None and job.run_at > self.now
        job.status, job.run_at, job.asked = "scheduled" if later else "approved", job.run_at if later else None, None

    def ended(self, job: Job) -> None:
        target = self.jobs.get(self.pairs.pop(job.id, 0))
        if target is not None and target.status == "pending":
            target.cheap = job.status == "completed" and job.estimate is not None and job.estimate <= DEAR
            if target.cheap:
                self.let_go(target)
            else:  # over the sum, or nobody knows
                target.status, target.asked = "awaiting_approval", self.now
        self.forget_estimate(job)

    def forget_estimate(self, job: Job) -> None:
        for estimate in [estimate for estimate, target in self.pairs.items() if target == job.id]:
            del self.pairs[estimate]
            self.cancel(self.jobs[estimate])

    def approve(self, job: Job, hash: str) -> str:
        if job.status != "awaiting_approval":
            return "LW521"
        if hash != job.hashes[-1]:
            return "LW520"
        job.agreed = True
        self.let_go(job)
        return job.status

    def expire(self) -> int:
        late = [
            j for j in self.jobs.values() if j.status == "awaiting_approval" and j.asked is not None and j.asked <= self.now - DAY
        ]
        for job in late:
            self.cancel(job)
        return len(late)

    # workers

    def end(self, worker: Worker) -> int:
        worker.alive = False
        given = self.give_back(worker, list(worker.claims))
        self.lane_use = {k: n for k, n in self.lane_use.items() if k[1] != worker.id}
        self.kind_use = {k: n for k, n in self.kind_use.items() if k[1] != worker.id}
        if self.leader and self.leader[0] == worker.id:
            self.leader = (worker.id, float("-inf"))
        return given

    def silent(self, reaper: Worker) -> list[Worker]:
        """Whom this one may declare dead: it must have been steady itself for an expiry, and be so now."""
        if reaper.steady >= self.now - TTL or reaper.seen <= self.now - TTL / 2:
            return []
        return [w for w in self.workers.values() if w.alive and w.id != reaper.id and w.seen < self.now - TTL]
