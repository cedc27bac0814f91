"""The ledger of model calls: one row each, failed ones too.

Rows that come while others are being written, or just after, go together in the next write. A caller has its answer once its row is
committed; a database that is away costs a warning, not the answer that was paid for: the rows are kept and written later.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque

from kg._store.models import CallRow, write_calls
from kg.loops import PerLoop
from lanework import Lanework

logger = logging.getLogger("kg")

MOST_AT_ONCE = 500
#: From one write to the next, while calls end one after the other.
PAUSE_S = 0.05
#: Kept while the database is away; beyond that the oldest are dropped, with an error in the log.
MOST_KEPT = 20_000


class Ledger:
    def __init__(self, work: Lanework) -> None:
        self._work = work
        self._rows: deque[CallRow] = deque()
        self._turn: PerLoop[asyncio.Lock] = PerLoop(asyncio.Lock)
        self._next_at = 0.0

    async def write(self, row: CallRow) -> None:
        self._rows.append(row)
        async with self._turn.get():
            if row in self._rows:  # else whoever was before us has written it
                await asyncio.sleep(max(self._next_at - time.monotonic(), 0.0))
                await self.flush()
                self._next_at = time.monotonic() + PAUSE_S

    async def flush(self) -> None:
        """What is waiting, now. Whatever happens to the caller, nothing is lost."""
        while self._rows:
            batch = [self._rows[place] for place in range(min(MOST_AT_ONCE, len(self._rows)))]
            try:
                await self._work._arun(write_calls(batch))
            except Exception as error:
                self._keep(error)
                return
            for row in batch:
                with contextlib.suppress(ValueError):  # another loop of this process has written it too: it is there once
                    self._rows.remove(row)

    def _keep(self, error: Exception) -> None:
        logger.warning("the ledger of model calls cannot be written, %d rows wait: %s", len(self._rows), error)
        while len(self._rows) > MOST_KEPT:
            logger.error("the ledger of model calls loses a row: %s", self._rows.popleft())
