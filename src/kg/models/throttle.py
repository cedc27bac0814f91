"""What a provider's 429 means: nobody in the cluster calls it for a while."""

from __future__ import annotations

import logging
import time

from kg.errors import ModelThrottled
from lanework.rates import Rate
from lanework.retries import backoff

logger = logging.getLogger("kg")

LONGEST_S = 60.0


class Throttle:
    """The pause is as long as the provider says; else it doubles with each wave of refusals, up to a minute. Calls that were under
    way when the pause began belong to the same wave."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._waves = 0
        self._since = self._until = float("-inf")

    async def refused(self, error: ModelThrottled, begun: float) -> None:
        now = time.monotonic()
        if begun >= self._since:
            self._waves += 1
        seconds = error.retry_after if error.retry_after is not None else backoff(self._waves - 1, 1.0, cap=LONGEST_S)
        if begun < self._since and now + seconds <= self._until + 0.05:
            return
        self._since, self._until = now, now + seconds
        logger.warning("%s pauses for %.1f s: %s", self._rate.name, seconds, error)
        await self._rate.apause(seconds)

    def went_well(self) -> None:
        self._waves = 0
