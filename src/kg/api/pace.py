"""How many submits a user may send to this process: a bucket per user that refills."""

from __future__ import annotations

import time

from kg.errors import TooMany


class Pace:
    def __init__(self, per_minute: int) -> None:
        self._each = 60.0 / per_minute
        self._burst = max(per_minute / 10, 1.0) * self._each
        self._next: dict[str, float] = {}

    def take(self, name: str) -> None:
        now = time.monotonic()
        due = max(self._next.get(name, 0.0), now - self._burst)
        if due > now:
            wait = max(int(due - now) + 1, 1)
            raise TooMany(f"too many submits; try again in {wait} s", retry_after=wait)
        if len(self._next) > 10_000:
            self._next = {key: value for key, value in self._next.items() if value > now - self._burst}
        self._next[name] = due + self._each
