"""Times the claim itself: the engine's own statement, called as a worker calls it, without a worker around it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

import psycopg

from lanework._store import claims, workers
from lanework._store.verb import Verb, run

TOP = (-(2**31), -32768, datetime(1, 1, 2, tzinfo=UTC), 0)
BELOW_TURN, BELOW = 1, 32767


class Claimer:
    """A worker row that claims and never runs. It remembers a position per type, as the real one does."""

    def __init__(self, dsn: str, lane: str) -> None:
        self._db = psycopg.connect(dsn, application_name="bench", prepare_threshold=0)
        [(self._lane,)] = self._db.execute("select id from lanework.lanes where name = %s", [lane]).fetchall()
        types = self._db.execute("select id from lanework.job_types where lane = %s order by id", [lane]).fetchall()
        self._positions = {row[0]: TOP for row in types}
        birth = workers.start_worker(
            name="claimer", host="bench", pid=0, ttl=86_400, lanes=[lane], types=list(self._positions), info={}
        )
        self._worker = run(self._db, birth)
        self._db.commit()
        self._no = 0

    def median_ms(self, count: int, want: int, refill: Callable[[], None] | None = None) -> float:
        """The median of so many claims. `refill` puts back what one took, so that the backlog keeps its size."""
        times = []
        for _ in range(count + 1):
            times.append(self.claim(want))
            if refill:
                refill()
        return statistics.median(times[1:])  # the first call plans

    def claim(self, want: int) -> float:
        """Milliseconds that `want` jobs cost in one claim, or would in several when it returned fewer.

        The commit's flush is the disk's, and not counted.
        """
        verb = self._verb(want)
        start = time.perf_counter()
        claimed = run(self._db, verb).claimed
        elapsed = time.perf_counter() - start
        self._db.commit()
        if not claimed:
            raise RuntimeError(f"claim {self._no} of {want} jobs found none")
        for job in claimed:
            self._positions[job.type_id] = max(self._positions[job.type_id], (job.turn, job.rank, job.created_at, job.id))
        return elapsed * 1000 * want / len(claimed)

    def close(self) -> None:
        self._db.close()

    def _verb(self, want: int) -> Verb[claims.Cycle]:
        self._no += 1
        turns, ranks, ats, ids = (list(column) for column in zip(*self._positions.values(), strict=True))
        count = len(self._positions)
        ranges = claims.Ranges(list(self._positions), [1] * count, turns, ranks, ats, ids, [BELOW_TURN] * count, [BELOW] * count)
        mine = {"worker": self._worker, "lane": self._lane, "call": self._no, "no": self._no, "claim": uuid4()}
        return claims.cycle(**mine, want=want, used=0, capped=[], capped_used=[], ranges=ranges, done=[])
