"""The clients of official SDKs. They are extras: imported where they are used, with their own retries off."""

from __future__ import annotations

import asyncio
import importlib
from functools import cached_property
from typing import Any, ClassVar

from kg.loops import PerLoop
from kg.models.turns import gated


class Client:
    """One for each event loop."""

    package: ClassVar[str]
    kind: ClassVar[str]

    def __init__(self, url: str, key: str, timeout: float) -> None:
        self._url, self._key, self._timeout = url, key, timeout
        self._clients: PerLoop[Any] = PerLoop(self._make)

    def _make(self) -> Any:
        module = importlib.import_module(self.package)
        # a server of one's own needs no key, the client does
        return getattr(module, self.kind)(
            api_key=self._key or "none", base_url=self._url or None, max_retries=0, timeout=self._timeout,
            http_client=gated(module.DefaultAioHttpClient)(),
        )  # fmt: skip

    async def load(self) -> None:
        """The import takes a second: not on the loop, and not in the first call."""
        await asyncio.to_thread(importlib.import_module, self.package)

    def get(self) -> Any:
        return self._clients.get()

    async def close(self) -> None:
        if (client := self._clients.pop()) is not None:
            await client.close()


class OpenAIClient(Client):
    package, kind = "openai", "AsyncOpenAI"

    async def load(self) -> None:
        await super().load()
        await asyncio.to_thread(lambda: self.answer)

    @cached_property
    def answer(self) -> Any:
        """What an answer of a chat model is read as."""
        return importlib.import_module("openai.types.chat").ChatCompletion


class AnthropicClient(Client):
    package, kind = "anthropic", "AsyncAnthropic"
