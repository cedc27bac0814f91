"""Remembered positions in the claim index, per type and rank.

What a worker has claimed stays in the index as dead entries for as long as somebody holds an old snapshot. Reading on from a
remembered position keeps the cost of a claim flat. A row can also appear behind a position (a retry, a late commit), so the
index is read from the top again whenever that took at most a twentieth of the time since the last such reading.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

from lanework._store.claims import Claimed, Ranges

#: A position stays this many claims behind: submits that overtake each other by milliseconds are not missed.
LAG = 8
#: Ranks remembered per type; more only cost a longer walk.
MOST_RANKS = 8
LOWEST_RANK, ABOVE_ALL = -32768, 40_000
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
SHARE = 20.0

Key = tuple[datetime, int]


class Positions:
    def __init__(self) -> None:
        self._at: dict[int, dict[int, Key]] = {}
        self._recent: deque[dict[tuple[int, int], Key]] = deque()
        self.next_rescan = 0.0

    def due(self) -> bool:
        """May the index be read from the top now?"""
        return time.monotonic() >= self.next_rescan

    def rescanned(self, started: float) -> None:
        now = time.monotonic()
        self.next_rescan = now + SHARE * (now - started)

    def ranges(self, types: Sequence[int], versions: dict[int, int], *, from_top: bool) -> Ranges:
        ranges = Ranges([], [], [], [], [], [])
        for type_id in types:
            known = {} if from_top else self._at.get(type_id, {})
            ranks = sorted(known)
            start: tuple[int, datetime, int] = (LOWEST_RANK, BEGINNING, 0)
            for rank in [*ranks, ABOVE_ALL]:
                self._add(ranges, type_id, versions[type_id], start, rank)
                if rank != ABOVE_ALL:
                    start = (rank, *known[rank])
        return ranges

    @staticmethod
    def _add(ranges: Ranges, type_id: int, version: int, start: tuple[int, datetime, int], below: int) -> None:
        for column, value in zip(ranges, (type_id, version, *start, below), strict=True):
            column.append(value)

    def advance(self, claimed: Sequence[Claimed]) -> None:
        """Remembers how far these went; positions move on to where an earlier claim was."""
        last: dict[tuple[int, int], Key] = {}
        for row in claimed:
            place, key = (row.type_id, row.rank), (row.created_at, row.id)
            if place not in last or key > last[place]:
                last[place] = key
        self._recent.append(last)
        if len(self._recent) > LAG:
            for (type_id, rank), key in self._recent.popleft().items():
                self._move(type_id, rank, key)

    def _move(self, type_id: int, rank: int, key: Key) -> None:
        ranks = self._at.setdefault(type_id, {})
        if rank not in ranks or key > ranks[rank]:
            ranks[rank] = key
        if len(ranks) > MOST_RANKS:
            del ranks[min(ranks, key=lambda known: ranks[known])]

    def forget(self) -> None:
        """After something that may have put many rows behind: start from the top."""
        self._at.clear()
        self._recent.clear()
        self.next_rescan = 0.0
