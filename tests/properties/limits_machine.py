"""A state machine of limits: permits of processes, of claims and of tokens, and budgets, on the real SQL against a small model.

The model counts: what each process believes to hold, which tokens live, what each run holds, what was reserved and billed. Every
process and token ever made is kept, and acts again after its end.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.sql import test_budgets as money
from tests.sql import test_permits as permits
from tests.sql.engine import Claim, Engine, numbers
from tests.sql.proof import complaints, move, wipe

NAMES = ("a", "b")
pick = st.integers(0, 10**6)
name = st.sampled_from(NAMES)


@dataclass(eq=False)
class Process:
    id: int
    held: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    runs: list[Claim] = field(default_factory=list)
    ended: list[Claim] = field(default_factory=list)
    alive: bool = True


@dataclass(eq=False)
class Reserved:
    id: uuid.UUID
    amount: int
    worker: Process
    billed: Decimal | None = None
    settled: bool = False


class LimitsMachine(RuleBasedStateMachine):
    def __init__(self, engines: list[Engine]) -> None:
        super().__init__()
        self.engine = engines[0]
        wipe(self.engine, frozen=True)
        self.processes: list[Process] = []
        self.tokens: dict[uuid.UUID, tuple[str, float]] = {}
        self.reserved: list[Reserved] = []
        self.clock = 0.0

    def teardown(self) -> None:
        assert complaints(self.engine) == []

    @initialize(a=st.integers(1, 3), b=st.integers(1, 3), amount=st.integers(5, 20))
    def start(self, a: int, b: int, amount: int) -> None:
        self.capacity = {"a": a, "b": b}
        for one, capacity in self.capacity.items():
            permits.permit(self.engine, one, capacity)
        self.amount = amount
        money.budget(self.engine, "money", amount)
        self.lane, self.type = self.engine.lane("work", None), self.engine.type("job", "work", max_tries=100)
        self.born()
        self.born()

    # -- the model ---------------------------------------------------------------------------------------------------------

    def some(self, n: int) -> Process:
        return self.processes[n % len(self.processes)]

    def in_use(self, which: str) -> int:
        """What is really held, as its holders believe."""
        blocks = sum(one.held[which] for one in self.processes if one.alive)
        runs = sum(len(one.runs) for one in self.processes if one.alive) if which == "a" else 0
        return blocks + runs + sum(1 for what, until in self.tokens.values() if what == which and until > self.clock)

    # -- processes ---------------------------------------------------------------------------------------------------------

    @precondition(lambda self: len([one for one in self.processes if one.alive]) < 4)
    @rule()
    def born(self) -> None:
        self.processes.append(Process(self.engine.worker()))

    @rule(n=pick)
    def dies(self, n: int) -> None:
        process = self.some(n)
        self.engine.rows("select * from lanework.end_worker(%s, 'dead', 'killed', false)", process.id)
        process.alive = False
        process.ended += process.runs
        process.runs = []
        process.held = dict.fromkeys(NAMES, 0)

    @rule(n=pick, names=st.sampled_from([("a",), ("b",), ("a", "b")]), many=st.integers(1, 3), heard=st.booleans())
    def takes(self, n: int, names: tuple[str, ...], many: int, heard: bool) -> None:
        """An answer that is not heard counts until the next call."""
        process = self.some(n)
        free = min(self.capacity[one] - self.in_use(one) for one in names)
        try:
            got = self._call(process, [{"names": list(names), "n": many}], names)
        except psycopg.Error as error:
            assert error.sqlstate == "LW401" and not process.alive, error
            return
        assert process.alive and got <= max(free, 0), (got, free)
        if heard:
            for one in names:
                process.held[one] += got

    @precondition(lambda self: any(sum(one.held.values()) for one in self.processes))
    @rule(n=pick)
    def gives_back(self, n: int) -> None:
        holders = [(one, which) for one in self.processes for which in NAMES if one.held[which]]
        process, which = holders[n % len(holders)]
        process.held[which] -= 1
        self._call(process, [], (which,))

    def _call(self, process: Process, asks: list[dict[str, Any]], names: tuple[str, ...]) -> int:
        state = [{"name": one, "held": process.held[one], "waiting": 0, "jobs": [], "capacity": 1} for one in names]
        rows = self.engine.rows(
            "select granted from lanework.take_permits(%s, %s, %s, %s) where ask = 0", process.id, next(numbers),
            json.dumps(state), json.dumps(asks),
        )  # fmt: skip
        return int(rows[0]["granted"]) if rows else 0

    # -- tokens ------------------------------------------------------------------------------------------------------------

    @rule(which=name, seconds=st.integers(1, 5))
    def acquires(self, which: str, seconds: int) -> None:
        free = self.capacity[which] - self.in_use(which)
        found = permits.acquire(self.engine, which, ttl=timedelta(seconds=seconds))
        if found is not None:
            assert free > 0
            self.tokens[found["token"]] = (which, self.clock + seconds)

    @precondition(lambda self: self.tokens)
    @rule(n=pick)
    def renews(self, n: int) -> None:
        token = list(self.tokens)[n % len(self.tokens)]
        which, until = self.tokens[token]
        renewed = self.engine.one("select lanework.renew_permits(%s, '3 s')", token)
        assert (renewed is not None) == (until > self.clock)
        if renewed is not None:
            self.tokens[token] = (which, self.clock + 3)

    @precondition(lambda self: self.tokens)
    @rule(n=pick)
    def releases(self, n: int) -> None:
        token = list(self.tokens)[n % len(self.tokens)]
        permits.release(self.engine, token)
        self.tokens[token] = (self.tokens[token][0], 0.0)

    @rule(seconds=st.integers(1, 3))
    def time_goes_on(self, seconds: int) -> None:
        move(self.engine, seconds=seconds)
        self.clock += seconds

    @rule(which=name, capacity=st.integers(0, 4))
    def set(self, which: str, capacity: int) -> None:
        permits.permit(self.engine, which, capacity)
        self.capacity[which] = capacity

    # -- jobs that declare `a` ---------------------------------------------------------------------------------------------

    @rule()
    def submits(self) -> None:
        self.engine.enqueue("job")

    @rule(n=pick, want=st.integers(0, 3), finish=st.integers(0, 2))
    def claims(self, n: int, want: int, finish: int) -> None:
        """Ends some runs and claims more, in one call, as a worker does."""
        process = self.some(n)
        done, left = process.runs[:finish], process.runs[finish:]
        free = self.capacity["a"] - self.in_use("a") + len(done)
        try:
            got = permits.limited_claim(
                self.engine, process.id, self.lane, {self.type: ["a"]}, held={"a": len(left)}, want=want, used=len(left),
                done=done or None,
            )  # fmt: skip
        except psycopg.Error as error:
            assert error.sqlstate == "LW401" and not process.alive, error
            return
        assert process.alive and len(got) <= max(free, 0)
        process.runs = [*left, *got]
        process.ended += done

    @rule()
    def sweeps(self) -> None:
        """After a sweep nobody waits for what is free."""
        self.engine.rows("select lanework.sweep_limits()")
        if self.capacity["a"] > self.in_use("a"):
            left = self.engine.one("select lanework.permit_left(id, 0, 0, 0, 'infinity') from lanework.permits where name = 'a'")
            woken = self.engine.one("select count(*) from lanework.jobs where status = 'approved'")
            parked = self.engine.one("select count(*) from lanework.jobs where blocked_on = 'permit:a'")
            assert not parked or woken >= left

    # -- money -------------------------------------------------------------------------------------------------------------

    @rule(n=pick, amount=st.integers(0, 6))
    def reserves(self, n: int, amount: int) -> None:
        process = self.some(n)
        id = money.reserve(self.engine, amount, "money", worker=process.id)
        if id is not None:
            self.reserved.append(Reserved(id, amount, process))

    @precondition(lambda self: self.reserved)
    @rule(
        n=pick,
        share=st.sampled_from([Decimal("0"), Decimal("0.5"), Decimal("1")]),
        how=st.sampled_from(["settle", "die", "release"]),
    )
    def calls(self, n: int, share: Decimal, how: str) -> None:
        """The call is billed first. Then it is settled, or nobody comes to say; one that was not made is released."""
        one = self.reserved[n % len(self.reserved)]
        if how == "release":
            if one.billed is None and not one.settled:
                one.settled = True
                money.release(self.engine, one.id)
            return
        if one.billed is None and not one.settled:
            one.billed = one.amount * share
        if how == "settle" and one.billed is not None:
            money.settle(self.engine, one.id, float(one.billed))
            one.settled = True

    # -- always ------------------------------------------------------------------------------------------------------------

    @invariant()
    def the_database_never_knows_less(self) -> None:
        for which in NAMES if self.processes else ():
            blocks = sum(one.held[which] for one in self.processes if one.alive)
            runs = sum(len(one.runs) for one in self.processes if one.alive) if which == "a" else 0
            assert permits.used(self.engine, which) >= blocks + runs

    @invariant()
    def no_more_than_the_budget_is_billed(self) -> None:
        if self.reserved:
            billed = sum((one.billed or Decimal(0) for one in self.reserved), Decimal(0))
            row = self.engine.rows("select spent, reserved from lanework.budget_spend where name = 'money'")[0]
            assert billed <= row["spent"] + row["reserved"] <= self.amount
