"""Why a job is not running now, and what keeps a lane from starting more: one answer, the same for every client."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

_JOB = re.compile(r"\bjob([ :])(\d+)")


@dataclass(frozen=True, slots=True)
class Explanation:
    """`app.explain(job_id)`.

    reason      a code that does not change: `full`, `session`, `delayed`, …
    text        the same in words
    waits_for   what it waits for, as `noun:name`: `lane:books`, `session:chat-7`, `permit:gpu`, `job:17`
    holders     who holds that: `job:17`, `worker:3`
    until       the moment at which that changes by itself, where it is known
    remedy      what would change it
    """

    job_id: int
    status: str
    reason: str
    text: str
    waits_for: tuple[str, ...]
    holders: tuple[str, ...]
    until: datetime | None
    remedy: str

    @property
    def named(self) -> set[int]:
        """The jobs that it speaks of."""
        words = (self.text, self.remedy, *self.waits_for, *self.holders)
        return {int(number) for one in words for _, number in _JOB.findall(one)}

    def known_to(self, jobs: Collection[int]) -> Explanation:
        """The same for somebody who may know of these jobs: others are there, without their numbers."""

        def told(words: str) -> str:
            return _JOB.sub(lambda it: it[0] if int(it[2]) in jobs else ("another job" if it[1] == " " else "job:?"), words)

        return replace(
            self, text=told(self.text), remedy=told(self.remedy), waits_for=tuple(map(told, self.waits_for)),
            holders=tuple(map(told, self.holders)),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Brake:
    """`app.lanes.explain(name)`: the fields mean the same. `open`: nothing holds it. `empty`: nothing waits there."""

    lane: str
    reason: str
    text: str
    waits_for: tuple[str, ...]
    holders: tuple[str, ...]
    until: datetime | None
    remedy: str
