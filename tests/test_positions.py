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


def test_ranges_are_rendered_once_for_as_long_as_nothing_moves() -> None:
    # Red with a move, or a forgetting, that does not count: the lane would go on reading from where it was.
    positions, versions = Positions(), {1: 1, 2: 1}

    def both() -> list[Any]:
        return [positions.ranges([1, 2], versions, from_top=top) for top in (True, False)]

    top, below = both()
    assert [id(one) for one in both()] == [id(top), id(below)]
    for number in range(LAG + 1):
        positions.advance([claimed(number)], positions.times_forgotten)
    assert both()[0] is top
    moved = both()[1]
    assert (list(below.types), list(moved.types)) == ([1, 2], [1, 1, 2])
    assert moved.params["ids"] == "{0,0,0}" and moved.params["ats"].count("2026-01-01T00:00:00+00:00") == 1
    positions.advance([claimed(LAG + 1)], positions.times_forgotten)
    assert both()[1].params["ids"] == "{0,1,0}"
    positions.forget()
    assert both()[1].params == top.params
    versions[2] = 7
    assert [one.params["versions"] for one in both()] == ["{1,7}", "{1,7}"]
