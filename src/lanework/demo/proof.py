"""What the database says about the tour: real numbers, and whether every promise was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg

_STATES = "select status::text, count(*)::int from lanework.all_jobs where id = any (%s) group by 1"
_ATTEMPTS = "select sum(attempt)::int from lanework.all_jobs where id = any (%s)"
_EFFECTS = """
    select count(distinct key)::int, (count(*) - count(distinct key))::int from demo.effects where job_id = any (%s)
"""
#: A body that was killed has no end in the diary; its attempt has one in the engine's history.
_RUNS = """
    with runs as (
        select r.*, coalesce(r.ended_at, a.ended_at, 'infinity') as gone_at
        from demo.runs r left join lanework.attempts a using (job_id, attempt) where r.job_id = any (%(ids)s)
    )
"""
_AT_ONCE = f"""{_RUNS}
    select count(*)::int from runs a join runs b on a.job_id = b.job_id and a.attempt < b.attempt and b.started_at < a.gone_at
"""  # noqa: S608 - our own text
_PEAK = f"""{_RUNS}
    select coalesce(max(x.n), 0)::int from runs r cross join lateral (
        select count(*) as n from runs o
        where o.lane = r.lane and o.started_at <= r.started_at and o.gone_at > r.started_at) x
    where r.lane = %(lane)s and r.started_at >= %(since)s and r.started_at < %(until)s
"""  # noqa: S608 - our own text
_RESUMED = "select resumed_at, started_at from demo.runs where job_id = %s and attempt > 1 order by attempt limit 1"


@dataclass
class Moments:
    """What the tour did, and when by the database's clock."""

    killed: datetime | None = None
    widened: datetime | None = None
    first_worker: str = ""
    second_worker: str = ""


@dataclass(frozen=True)
class Fact:
    what: str
    value: str
    holds: bool = True


@dataclass
class Proof:
    dsn: str
    ids: Sequence[int]
    report: int
    film: int
    moments: Moments
    effects_wanted: int
    slots: tuple[int, int]
    facts: list[Fact] = field(default_factory=list)

    def collect(self) -> list[Fact]:
        with psycopg.connect(self.dsn, autocommit=True) as db:
            self._jobs(db)
            self._recovery(db)
            self._effects(db)
            self._lanes(db)
        return self.facts

    def _add(self, what: str, value: str, holds: bool = True) -> None:
        self.facts.append(Fact(what, value, holds))

    def _jobs(self, db: psycopg.Connection[Any]) -> None:
        states = dict(db.execute(_STATES, [[*self.ids, self.film]]).fetchall())
        [(attempts,)] = db.execute(_ATTEMPTS, [list(self.ids)]).fetchall()
        wanted = len(self.ids)
        self._add("jobs submitted and completed", f"{states.get('completed', 0)} of {wanted}", states.get("completed") == wanted)
        self._add("jobs cancelled", str(states.get("cancelled", 0)), states.get("cancelled") == 1)
        # one again for the worker that died, one for the error that passed
        self._add("attempts they took", str(attempts), attempts == wanted + 2)

    def _recovery(self, db: psycopg.Connection[Any]) -> None:
        row = db.execute(_RESUMED, [self.report]).fetchone()
        if row is None or self.moments.killed is None:
            self._add("the killed worker's job", "was never run again", False)
            return
        resumed, started = row
        self._add("the killed worker's job ran again after", f"{(started - self.moments.killed).total_seconds():.1f} s")
        self._add("parts it had done, and had not to do again", str(resumed), resumed > 0)

    def _effects(self, db: psycopg.Connection[Any]) -> None:
        [(there, twice)] = db.execute(_EFFECTS, [list(self.ids)]).fetchall()
        [(at_once,)] = db.execute(_AT_ONCE, {"ids": list(self.ids)}).fetchall()
        lost = self.effects_wanted - there
        self._add("effects lost", f"{lost} of {self.effects_wanted}", lost == 0)
        self._add("effects twice", str(twice), twice == 0)
        self._add("times a job ran in two places at once", str(at_once), at_once == 0)

    def _lanes(self, db: psycopg.Connection[Any]) -> None:
        before, after = self.slots
        narrow = self._peak(db, "-infinity", self.moments.widened)
        wide = self._peak(db, self.moments.widened, "infinity")
        self._add(f"most at once with {before} slots", str(narrow), 0 < narrow <= before)
        self._add(f"most at once with {after} slots", str(wide), before < wide <= after)

    def _peak(self, db: psycopg.Connection[Any], since: Any, until: Any) -> int:
        values = {"ids": list(self.ids), "lane": "interactive", "since": since, "until": until}
        [(peak,)] = db.execute(_PEAK.encode(), values).fetchall()
        return int(peak)
