"""Times the claim itself: the engine's own SQL function, called as a worker calls it, without a worker around it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg

TOP = (-32768, datetime(1, 1, 2, tzinfo=UTC), 0)
BELOW = 32768
CLAIM = """
select rank, created_at, id, type_id from lanework.claim(
    %(worker)s, %(lane)s, %(no)s, %(claim)s, %(want)s, 0, '{}', '{}',
    %(types)s::int[], %(versions)s::smallint[], %(ranks)s::smallint[], %(ats)s::timestamptz[], %(ids)s::bigint[],
    %(belows)s::int[])
"""


class Claimer:
    """A worker row that claims and never runs. It remembers a position per type, as the real one does."""

    def __init__(self, dsn: str, lane: str) -> None:
        self._db = psycopg.connect(dsn, application_name="bench", prepare_threshold=0)
        [(self._lane,)] = self._rows("select id from lanework.lanes where name = %s", [lane])
        types = self._rows("select id from lanework.job_types where lane = %s order by id", [lane])
        self._positions = {row[0]: TOP for row in types}
        start = "select lanework.start_worker('claimer', 'bench', 0, '1 day', %s, %s, '{}')"
        [(self._worker,)] = self._rows(start, [[lane], list(self._positions)])
        self._db.commit()
        self._no = 0

    def median_ms(self, claims: int, want: int, refill: Callable[[], None] | None = None) -> float:
        """The median of so many claims. `refill` puts back what one took, so that the backlog keeps its size."""
        times = []
        for _ in range(claims + 1):
            times.append(self.claim(want))
            if refill:
                refill()
        return statistics.median(times[1:])  # the first call plans

    def claim(self, want: int) -> float:
        """Milliseconds that `want` jobs cost in one claim, or would in several when it returned fewer.

        The commit's flush is the disk's, and not counted.
        """
        self._no += 1
        ranks, ats, ids = zip(*self._positions.values(), strict=True)
        count = len(self._positions)
        values = {"worker": self._worker, "lane": self._lane, "no": self._no, "claim": uuid4(), "want": want}
        ranges = {"types": list(self._positions), "versions": [1] * count, "ranks": list(ranks), "ats": list(ats)}
        start = time.perf_counter()
        rows = self._rows(CLAIM, {**values, **ranges, "ids": list(ids), "belows": [BELOW] * count})
        elapsed = time.perf_counter() - start
        self._db.commit()
        if not rows:
            raise RuntimeError(f"claim {self._no} of {want} jobs found none")
        for rank, created_at, job_id, type_id in rows:
            self._positions[type_id] = max(self._positions[type_id], (rank, created_at, job_id))
        return elapsed * 1000 * want / len(rows)

    def close(self) -> None:
        self._db.close()

    def _rows(self, sql: str, params: Any) -> list[tuple[Any, ...]]:
        return self._db.execute(sql.encode(), params).fetchall()
