"""Many workers at once, each a thread with a connection of its own, driven by a seed; and the people and services around them."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import psycopg

from tests.pace import bound
from tests.sql.engine import Claim, Engine, connect, numbers


@dataclass
class Crowd:
    """Runs its members until `stop`, and counts the errors that the server gave them by SQLSTATE."""

    dsn: str
    seed: int
    stop: threading.Event = field(default_factory=threading.Event)
    errors: Counter[str] = field(default_factory=Counter)
    broken: list[BaseException] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def add(self, member: Callable[[Engine, random.Random], None], *, loop: bool = True) -> None:
        rng = random.Random(f"{self.seed} {len(self._threads)}")
        self._threads.append(threading.Thread(target=self._run, args=(member, rng, loop), daemon=True))

    def _run(self, member: Callable[[Engine, random.Random], None], rng: random.Random, loop: bool) -> None:
        with connect(self.dsn) as db:
            engine = Engine(db)
            while not self.stop.is_set():
                try:
                    member(engine, rng)
                except psycopg.Error as error:
                    self.errors[error.sqlstate or "none"] += 1
                except BaseException as error:
                    self.broken.append(error)
                    self.stop.set()
                if not loop:
                    return

    def _left(self) -> str:
        with connect(self.dsn) as db:
            rows = Engine(db).rows("select status::text, count(*)::int as n from lanework.jobs group by 1")
        return ", ".join(f"{row['n']} {row['status']}" for row in rows)

    def work(self, done: Callable[[], bool], seconds: float = 90) -> None:
        """Until `done`, or the time is up: it must come to rest in time. That is longer where others keep the cores busy."""
        for thread in self._threads:
            thread.start()
        begun = time.monotonic()
        try:
            while not self.stop.is_set() and not done():
                assert time.monotonic() - begun < bound(seconds), (
                    f"no rest after {seconds} s; {self._left()}; errors: {dict(self.errors)}"
                )
                time.sleep(0.02)
        finally:
            self.stop.set()
            for thread in self._threads:
                thread.join(30)
        if self.broken:
            raise self.broken[0]


class RetiredError(Exception):
    """Declared dead, and told so by a beat."""


@dataclass
class Worker:
    """Claims, runs nothing, and ends what it claimed in every way there is."""

    lanes: dict[int, list[int]]
    endings: tuple[str, ...] = ("completed",)
    capped: tuple[int, ...] = ()
    forgets: float = 0.0  # how often the answer to a claim is lost
    id: int = 0
    held: dict[int, list[Claim]] = field(default_factory=dict)
    kinds: dict[Claim, int] = field(default_factory=dict)
    open: dict[int, list[Claim]] = field(default_factory=dict)
    zombies: list[Claim] = field(default_factory=list)
    told: int = 0

    def __call__(self, engine: Engine, rng: random.Random) -> None:
        if not self.id:
            self.id = engine.worker()
        try:
            self._round(engine, rng, rng.choice(list(self.lanes)))
            if rng.random() < 0.3:
                self._beat(engine)
        except RetiredError:
            self._haunt(engine)
        except psycopg.Error as error:
            if error.sqlstate != "LW401":
                raise
            self._haunt(engine)

    def _round(self, engine: Engine, rng: random.Random, lane: int) -> None:
        """Ends some of what it holds in this lane, and claims."""
        held = self.held.setdefault(lane, [])
        rng.shuffle(held)
        ended, kept = held[: (cut := rng.randint(0, len(held)))], held[cut:]
        ending = rng.choice(self.endings)
        if ended and ending != "completed":
            engine.settle(self.id, *ended, action=ending, delay_s=0.01 if ending == "snooze" else 0)
            self.held[lane], ended = kept, []
        self.told = no = next(numbers)
        claim_id = uuid.uuid4()
        self.open[no] = []
        capped = Counter(self.kinds[c] for c in kept)
        rows = engine.claim_rows(
            self.id, lane, *self.lanes[lane], no=no, claim_id=claim_id, want=rng.randint(1, 6), used=len(kept),
            capped={kind: capped[kind] for kind in self.capped if kind in self.lanes[lane]}, done=ended)  # fmt: skip
        claims = [Claim(row["id"], row["attempt"], claim_id) for row in rows if row["id"] > 0]
        self.kinds |= {Claim(row["id"], row["attempt"], claim_id): row["type_id"] for row in rows}
        self.held[lane] = kept
        if rng.random() < self.forgets:  # it never learns what it was given
            del self.open[no]
            self.zombies += claims
            self._beat(engine)
        else:
            self.held[lane] = kept + claims
            self.open[no] = claims

    def _beat(self, engine: Engine) -> None:
        mine = {c for held in self.held.values() for c in held}
        self.open = {no: claims for no, claims in self.open.items() if mine.intersection(claims)}
        if any(row["kind"] == "retired" for row in engine.beat(self.id, self.open, self.told)):
            raise RetiredError

    def _haunt(self, engine: Engine) -> None:
        """Declared dead: it tries to write for all it held, as a zombie, and another worker starts."""
        self.zombies += [c for held in self.held.values() for c in held]
        while engine.end_worker(self.id)[1]:  # rows that were locked are still its own
            pass
        for zombie in self.zombies[-10:]:
            assert engine.completed(self.id, zombie) == 0 and engine.log(zombie) == set(), f"a zombie wrote: {zombie}"
        self.held, self.open, self.id = {}, {}, 0


def deadlocks(engine: Engine) -> int:
    with suppress(psycopg.Error):
        engine.rows("select pg_stat_force_next_flush()")
    return int(engine.one("select deadlocks from pg_stat_database where datname = current_database()"))
