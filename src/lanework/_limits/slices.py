"""A process's share of a rate: it takes slices of up to one second, and hands them out to its callers in order."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from lanework._store.rates import Slice

#: A slice is used within so long, or lost: the database has counted it at its grant.
SLICE_S = 1.0


@dataclass(slots=True, eq=False)
class Turn:
    """One caller in the queue."""

    tokens: float


@dataclass(slots=True, eq=False)
class Share:
    """What this process has of one rate. Callers come in turn: the first one asks the database for all that wait."""

    requests: float = 0.0
    tokens: float = 0.0
    until: float = 0.0
    queue: deque[Turn] = field(default_factory=deque)
    recent: deque[tuple[float, float]] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, tokens: float) -> Turn:
        turn = Turn(tokens)
        with self.lock:
            self.queue.append(turn)
        return turn

    def leave(self, turn: Turn) -> None:
        with self.lock:
            if turn in self.queue:
                self.queue.remove(turn)

    def serve(self, turn: Turn) -> bool:
        """True if it is this caller's turn and there is enough for it."""
        with self.lock:
            now = time.monotonic()
            if now > self.until:
                self.requests = self.tokens = 0.0
            if self.queue[0] is not turn or self.requests < 1 or self.tokens < turn.tokens:
                return False
            self.queue.popleft()
            self.requests -= 1
            self.tokens -= turn.tokens
            self.recent.append((now, turn.tokens))
            return True

    def is_first(self, turn: Turn) -> bool:
        with self.lock:
            return self.queue[0] is turn

    def wanted(self) -> tuple[float, float]:
        """Requests and tokens for all that wait here, and as much again as the last second has used."""
        with self.lock:
            now = time.monotonic()
            while self.recent and self.recent[0][0] < now - SLICE_S:
                self.recent.popleft()
            used = len(self.recent), sum(tokens for _, tokens in self.recent)
            waiting = len(self.queue), sum(turn.tokens for turn in self.queue)
            return float(max(used[0], waiting[0])), max(used[1], waiting[1])

    def add(self, slice: Slice) -> None:
        with self.lock:
            if time.monotonic() > self.until:
                self.requests = self.tokens = 0.0
            self.requests += slice.requests
            self.tokens += slice.tokens
            self.until = time.monotonic() + SLICE_S

    def drop(self) -> None:
        """The rate is paused: what was granted before is not used any more."""
        with self.lock:
            self.until = 0.0
