"""Failpoints cost nothing, and are not there, unless they are asked for."""

from __future__ import annotations

import asyncio
import time

import pytest

from lanework import _failpoints
from lanework._failpoints import Failpoints


def test_without_the_setting_a_point_is_a_function_that_does_nothing() -> None:
    assert _failpoints.reach is _failpoints._nothing
    with pytest.raises(StopIteration):  # it does not even yield to the loop
        next(_failpoints.reach("before_claim").__await__())


def test_a_point_fails_as_often_as_it_was_told() -> None:
    async def reach_thrice() -> list[str]:
        points, found = Failpoints("before_claim=raise*2 before_settle=sleep:0.01"), []
        for _ in range(3):
            try:
                await points.reach("before_claim")
                found.append("passed")
            except ConnectionResetError as error:
                found.append(str(error))
        begun = time.monotonic()
        await points.reach("before_settle")
        assert time.monotonic() - begun >= 0.005
        return found

    assert asyncio.run(reach_thrice()) == ["failpoint before_claim", "failpoint before_claim", "passed"]


@pytest.mark.parametrize("text", ["before_claim", "nowhere=raise", "before_claim=explode", "before_claim=raise*x"])
def test_a_wrong_setting_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="LANEWORK_FAILPOINTS: expected name=action"):
        Failpoints(text)
