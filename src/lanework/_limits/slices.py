"""A process's share of a rate: it takes slices of up to one second, and hands them out to its callers in order."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field

from lanework._store.rates import Slice

#: A slice is used within so long, or lost: the database has counted it at its grant.
SLICE_S = 1.0
#: Where so many are served in a second, the next slice is fetched when nothing is left that lasts so long: nobody waits for it
#: then. (Who calls now and then would lose it, and it has been counted.)
BUSY, AHEAD_S = 4, 0.5


@dataclass(slots=True, eq=False)
class Turn:
    """One caller in the queue."""

    tokens: float


@dataclass(slots=True, eq=False)
class Left:
    """What is left of a slice."""

    requests: float
    tokens: float
    until: float


@dataclass(slots=True, eq=False)
class Share:
    """What this process has of one rate. Callers come in turn: the first one asks the database for all that wait."""

    slices: deque[Left] = field(default_factory=deque)
    queue: deque[Turn] = field(default_factory=deque)
    recent: deque[tuple[float, float]] = field(default_factory=deque)
    lock: threading.Lock = field(default_factory=threading.Lock)
    fetching: bool = False
    pauses: int = 0

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
            while self.slices and self.slices[0].until < now:
                self.slices.popleft()
            requests, tokens = sum(one.requests for one in self.slices), sum(one.tokens for one in self.slices)
            if self.queue[0] is not turn or requests < 1 or tokens < turn.tokens:
                return False
            self.queue.popleft()
            self._use(turn.tokens)
            self.recent.append((now, turn.tokens))
            return True

    def _use(self, tokens: float) -> None:
        """One request and so many tokens, of what ends first."""
        requests = 1.0
        for one in self.slices:
            part, tokens_part = min(requests, one.requests), min(tokens, one.tokens)
            one.requests -= part
            one.tokens -= tokens_part
            requests -= part
            tokens -= tokens_part

    def is_first(self, turn: Turn) -> bool:
        with self.lock:
            return self.queue[0] is turn

    def wanted(self) -> tuple[float, float]:
        """Requests and tokens for all that wait here, and as much again as the last second has used."""
        with self.lock:
            used, tokens = self._used()
            waiting = len(self.queue), sum(turn.tokens for turn in self.queue)
            return float(max(used, waiting[0])), max(tokens, waiting[1])

    def _used(self) -> tuple[int, float]:
        """In the last second."""
        now = time.monotonic()
        while self.recent and self.recent[0][0] < now - SLICE_S:
            self.recent.popleft()
        return len(self.recent), sum(tokens for _, tokens in self.recent)

    def runs_out(self) -> bool:
        """True for the one caller who is to fetch the next slice; it says `fetched`, come what may."""
        with self.lock:
            used, tokens = self._used()
            if self.fetching or used < BUSY:
                return False
            soon = time.monotonic() + AHEAD_S
            left = [one for one in self.slices if one.until > soon]
            if sum(one.requests for one in left) >= 1 and sum(one.tokens for one in left) >= tokens / used:
                return False
            self.fetching = True
            return True

    def fetched(self) -> None:
        self.fetching = False

    def add(self, slice: Slice, pauses: int) -> None:
        """`pauses`, as they were when it was asked for: what was granted before a pause is not used after it began."""
        with self.lock:
            if slice.requests and pauses == self.pauses:
                self.slices.append(Left(slice.requests, slice.tokens, time.monotonic() + SLICE_S))

    def drop(self) -> None:
        """The rate is paused: what was granted before is not used any more."""
        with self.lock:
            self.pauses += 1
            self.slices.clear()
