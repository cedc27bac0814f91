"""How long to leave a thing that fails alone: 1 s, 2 s, 4 s, … 60 s."""

from __future__ import annotations

import time

FIRST_S = 1.0
LAST_S = 60.0


class Backoff:
    def __init__(self) -> None:
        self.failure: str | None = None
        self._delay = FIRST_S
        self._until = 0.0

    def failed(self, why: str) -> None:
        self.failure = why
        self._until = time.monotonic() + self._delay
        self._delay = min(LAST_S, self._delay * 2)

    def worked(self) -> None:
        self.failure = None
        self._delay = FIRST_S

    @property
    def left(self) -> float:
        return max(self._until - time.monotonic(), 0.0)

    def holds(self) -> bool:
        return self.failure is not None and time.monotonic() < self._until
