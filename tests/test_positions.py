"""Where a lane's next claim begins to read."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from lanework._services.positions import LAG, Positions


def claimed(number: int) -> Any:
    return SimpleNamespace(type_id=1, turn=0, rank=0, created_at=datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC), id=number)


def begins(positions: Positions) -> list[int]:
    return list(positions.ranges([1], {1: 1}, from_top=False).ids)


def test_what_is_forgotten_while_a_claim_is_under_way_stays_forgotten() -> None:
    positions = Positions()
    for number in range(LAG + 1):
        positions.advance([claimed(number)], positions.times_forgotten)
    positions.rescanned(time.monotonic() - 60, positions.times_forgotten)
    assert begins(positions)[1:] == [0] and len(begins(positions)) == 2 and not positions.due()
    before = positions.times_forgotten  # a claim is sent
    positions.forget()  # the hint comes: somebody has raised a job
    positions.rescanned(time.monotonic() - 60, before)  # the claim's answer, which knows nothing of it
    positions.advance([claimed(50)], before)
    assert begins(positions) == [0] and positions.due() and not positions._recent
