"""Progress and log lines of running jobs, written in batches, in order, under their fences."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from lanework._codec import clean_text, encode
from lanework._services.service import Service
from lanework._store.claims import Held
from lanework._store.keeper import AsyncKeeper
from lanework._store.running import write_logs, write_progress
from lanework.errors import InvalidResult
from lanework.secrets import Secrets

INTERVAL = 0.25
MOST_LINES = 2000


class Recorder(Service):
    name = "recorder"

    def __init__(
        self, keeper: AsyncKeeper, lost: Callable[[Held], None], log_lines: int, secrets: Secrets, told: Callable[[], None]
    ) -> None:
        super().__init__()
        self._keeper, self._lost, self._log_lines, self._secrets, self._told = keeper, lost, log_lines, secrets, told
        self._progress: dict[int, tuple[Held, float | None, str, str | None]] = {}
        self._lines: list[tuple[Held, str, str]] = []
        self._counts: dict[Held, int] = {}
        self._writing = asyncio.Lock()

    def progress(self, held: Held, fraction: float | None, message: str, data: dict[str, Any]) -> None:
        """Only the newest of a job is kept: progress is a state, not a stream."""
        if fraction is not None:
            fraction = min(max(float(fraction), 0.0), 1.0)
        encoded = encode(self._secrets.mask_all(data), field="progress", limit=16_384, error=InvalidResult) if data else None
        self._progress[held.id] = (held, fraction, clean_text(self._secrets.mask(str(message)), 1000), encoded)
        self.wake()

    def log(self, held: Held, stream: str, text: str) -> None:
        count = self._counts[held] = self._counts.get(held, 0) + 1
        if count > self._log_lines:
            if count == self._log_lines + 1:
                self._lines.append(
                    (held, "lanework", f"… more than {self._log_lines} entries; the rest of this attempt is dropped")
                )
            return
        self._lines.append((held, clean_text(stream, 40), clean_text(self._secrets.mask(text), 8192)))
        self.wake()

    async def drain(self, held: Held) -> None:
        """Before a run ends: what it said is written while its fence still holds."""
        async with self._writing:
            await self._write()
        self._counts.pop(held, None)

    async def run_once(self) -> float:
        async with self._writing:
            await self._write()
        await asyncio.sleep(INTERVAL)
        return 0.0 if self._lines or self._progress else 3600.0

    async def _write(self) -> None:
        while self._lines:
            batch = self._lines[:MOST_LINES]
            held = sorted({line[0] for line in batch})
            kept = await self._keeper.run(write_logs(held, [(one.id, one.attempt, stream, text) for one, stream, text in batch]))
            del self._lines[: len(batch)]
            self._tell_lost(held, kept)
        if self._progress:
            entries, self._progress = self._progress, {}
            try:
                kept = await self._keeper.run(write_progress([entries[id] for id in sorted(entries)]))
            except BaseException:
                self._progress = {**entries, **self._progress}
                raise
            self._tell_lost([entry[0] for entry in entries.values()], kept)

    def _tell_lost(self, held: list[Held], kept: set[int]) -> None:
        self._told()
        for one in held:
            if one.id not in kept:
                self._lost(one)
