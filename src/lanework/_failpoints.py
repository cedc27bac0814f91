"""Named points at which a test makes the engine fail. They do nothing unless LANEWORK_FAILPOINTS is set when the process starts.

    LANEWORK_FAILPOINTS='after_claim_commit=raise*1 before_claim=sleep:0.5'

name=action, each time the point is reached, or only the first n times with `*n`:

    raise       as if the connection were lost here
    sleep:S     the round waits S seconds; everything else goes on
    kill        SIGKILL to this process

The points:

    before_claim          a round's call is made up and not yet sent
    after_claim_commit    jobs are claimed, and the answer is here
    after_finish_commit   finishes are stored, and the answer is here
    before_settle         runs have ended in another way, and nobody knows it yet
    before_step           a step has run, and its result is not stored yet
    after_step            a step's result is stored, and the answer is here
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable

POINTS = ("before_claim", "after_claim_commit", "after_finish_commit", "before_settle", "before_step", "after_step")
_ORDER = re.compile(r"(?P<name>\w+)=(?P<action>raise|kill|sleep:(?P<seconds>[\d.]+))(\*(?P<times>\d+))?")


async def _nothing(name: str) -> None:
    return None


class Failpoints:
    def __init__(self, text: str) -> None:
        self._orders: dict[str, tuple[str, float, float]] = {}
        for word in text.split():
            match = _ORDER.fullmatch(word)
            if match is None or match["name"] not in POINTS:
                raise ValueError(f"LANEWORK_FAILPOINTS: expected name=action with a name of {', '.join(POINTS)}, got {word!r}")
            times = float(match["times"] or "inf")
            self._orders[match["name"]] = (match["action"].partition(":")[0], float(match["seconds"] or 0), times)

    async def reach(self, name: str) -> None:
        action, seconds, times = self._orders.get(name, ("", 0.0, 0.0))
        if times <= 0:
            return
        self._orders[name] = (action, seconds, times - 1)
        if action == "sleep":
            await asyncio.sleep(seconds)
        elif action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif action == "raise":
            raise ConnectionResetError(f"failpoint {name}")


_asked = os.environ.get("LANEWORK_FAILPOINTS", "")
#: `await reach("after_claim_commit")`: without the setting a function that does nothing, and never yields to the loop.
reach: Callable[[str], Awaitable[None]] = Failpoints(_asked).reach if _asked else _nothing
