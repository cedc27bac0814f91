"""Remembered positions in the claim index, per type, turn and rank.

What a worker has claimed stays in the index as dead entries for as long as somebody holds an old snapshot. Reading on from a
remembered position keeps the cost of a claim flat. A row can also appear behind a position (a retry, a late commit), so the
index is read from the top again whenever that took at most a twentieth of the time since the last such reading.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from lanework._store.claims import Claimed, Ranges

#: A position stays this many claims behind: submits that overtake each other by milliseconds are not missed.
LAG = 8
#: Places (turn, rank) remembered per type; more only cost a longer walk.
MOST_PLACES = 8
LOWEST_TURN, LOWEST_RANK = -(2**31), -32768
ABOVE_ALL = (2**31 - 1, 40_000)
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
SHARE = 20.0

Place = tuple[int, int]
Key = tuple[datetime, int]


class Positions:
    def __init__(self) -> None:
        self._at: dict[int, dict[Place, Key]] = {}
        self._recent: deque[dict[tuple[int, Place], Key]] = deque()
        self._moves = 0
        self._made: dict[bool, tuple[Any, Ranges]] = {}
        self.next_rescan = 0.0
        #: How often all was forgotten. A claim that was under way meanwhile knows nothing of what was put behind.
        self.times_forgotten = 0

    def due(self) -> bool:
        """May the index be read from the top now?"""
        return time.monotonic() >= self.next_rescan

    def rescanned(self, started: float, times_forgotten: int) -> None:
        if times_forgotten == self.times_forgotten:
            now = time.monotonic()
            self.next_rescan = now + SHARE * (now - started)

    def ranges(self, types: Sequence[int], versions: dict[int, int], *, from_top: bool) -> Ranges:
        """The same value for as long as nothing has moved: an idle lane renders it once."""
        key = (tuple(types), tuple([versions[type_id] for type_id in types]), 0 if from_top else self._moves)
        if self._made.get(from_top, (None,))[0] != key:
            self._made[from_top] = (key, self._ranges(types, versions, from_top=from_top))
        return self._made[from_top][1]

    def _ranges(self, types: Sequence[int], versions: dict[int, int], *, from_top: bool) -> Ranges:
        rows: list[tuple[Any, ...]] = []
        for type_id in types:
            known = {} if from_top else self._at.get(type_id, {})
            places = sorted(known)
            # turns that are over have nothing but dead entries; in a plain lane there are none
            turn = places[0][0] if places and places[0][0] < 0 else LOWEST_TURN
            start: tuple[int, int, datetime, int] = (turn, LOWEST_RANK, BEGINNING, 0)
            for place in [*places, ABOVE_ALL]:
                rows.append((type_id, versions[type_id], *start, *place))
                if place != ABOVE_ALL:
                    start = (*place, *known[place])
        return Ranges.of(rows)

    def advance(self, claimed: Sequence[Claimed], times_forgotten: int) -> None:
        """Remembers how far these went; positions move on to where an earlier claim was."""
        if times_forgotten != self.times_forgotten:
            return
        last: dict[tuple[int, Place], Key] = {}
        for row in claimed:
            where, key = (row.type_id, (row.turn, row.rank)), (row.created_at, row.id)
            if where not in last or key > last[where]:
                last[where] = key
        self._recent.append(last)
        if len(self._recent) > LAG:
            for (type_id, place), key in self._recent.popleft().items():
                self._move(type_id, place, key)

    def _move(self, type_id: int, place: Place, key: Key) -> None:
        self._moves += 1
        places = self._at.setdefault(type_id, {})
        if place not in places or key > places[place]:
            places[place] = key
        if len(places) > MOST_PLACES:
            del places[min(places, key=lambda known: (known[0], places[known]))]

    def forget(self) -> None:
        """After something that may have put many rows behind: start from the top."""
        self._at.clear()
        self._moves += 1
        self._recent.clear()
        self.next_rescan = 0.0
        self.times_forgotten += 1
