"""The worker's side of a context, faked."""

from __future__ import annotations

import asyncio
from typing import Any

from lanework.errors import ClaimLost


class FakeLink:
    """Keeps what it is told, wakes who waits for it."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self._news = asyncio.Event()

    def tell(self, op: str, data: dict[str, Any]) -> None:
        self.told.append((op, data))
        self._news.set()

    def ask(self, op: str, data: dict[str, Any]) -> Any:
        raise AssertionError("the worker's loop must not block")

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        await asyncio.sleep(0)
        if op == "lost":
            raise ClaimLost("superseded")
        if op == "broken":
            raise RuntimeError("out of order")
        return data.get("state")

    def log(self, *streams: str) -> list[str]:
        """The lines of some streams, or of all."""
        entries = [data for op, data in self.told if op == "log" and (not streams or data["stream"] in streams)]
        return [line for entry in entries for line in entry["text"].split("\n")]

    async def until(self, line: str) -> None:
        async with asyncio.timeout(60):
            while not any(each.startswith(line) for each in self.log()):
                self._news.clear()
                await self._news.wait()

    def database(self) -> Any:
        raise NotImplementedError

    async def adatabase(self) -> Any:
        raise NotImplementedError
