"""What a process has of models: `embed`, `chat` and `extractor`, as the settings say, each call limited, paid and written down.

Inside a job calls are the job's by themselves: nothing has to be passed along.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from kg._store.models import remove_calls, settle_lost_calls
from kg.config import KgSettings
from kg.errors import ModelError
from kg.ingest.extractor import ChatExtractor
from kg.loops import PerLoop
from kg.models.anthropic import AnthropicChat
from kg.models.calling import Calls, Limits
from kg.models.clients import AnthropicClient, OpenAIClient
from kg.models.ledger import Ledger
from kg.models.local import OwnEmbed, OwnExtractor
from kg.models.openai import OpenAIChat, OpenAIEmbed
from kg.models.prices import Price, Prices
from kg.parts import Chat, Embed, Extractor, Usage
from lanework import Context, Lanework
from lanework.errors import ConfigError
from lanework.secrets import SHORTEST

logger = logging.getLogger("kg")
#: A call that is older than it can be, by this much, is nobody's any more.
MARGIN_S = 60.0


class Models:
    """Made by `from_settings`, or from parts of one's own."""

    def __init__(
        self, embed: Embed, extractor: Extractor, chat: Chat | None = None, *, limits: Limits | None = None,
        prices: Sequence[Price] = (), closing: Sequence[Any] = (),
    ) -> None:  # fmt: skip
        self.embed, self.extractor, self.chat = embed, extractor, chat
        self.limits, self.prices = limits or Limits(), tuple(prices)
        self._closing = list(closing)
        self._loaded = False
        self._lock: PerLoop[asyncio.Lock] = PerLoop(asyncio.Lock)

    @classmethod
    def from_settings(cls, settings: KgSettings, work: Lanework) -> Models:
        return _Maker(settings, work).models()

    async def load(self) -> None:
        """What is heavy, once in this process, before its first job. A provider that is away is asked again by its first call."""
        async with self._lock.get():
            if self._loaded:
                return
            for part in (self.embed, self.extractor, self.chat):
                if (load := getattr(part, "load", None)) is not None:
                    try:
                        await load()
                    except ModelError as error:
                        if not error.again and error.error_class != "throttled":
                            raise
                        logger.warning("a model is not there yet: %s", error)
            self._loaded = True

    async def close(self) -> None:
        for part in self._closing:
            await part.close()

    def declare(self, work: Lanework, *, keep_days: float = 365.0) -> None:
        """Loads them in every worker before its first job, and keeps the ledger in bounds."""
        work.hooks.on_start(self.load)
        work.hooks.on_stop(self.close)

        @work.maintenance("model_calls", every=86_400, timeout=600)
        async def tidy(ctx: Context) -> dict[str, int]:
            return {"removed": await work._arun(remove_calls(keep_days))}

        @work.maintenance("lost_calls", every=60, timeout=60)
        async def settle(ctx: Context) -> dict[str, int]:
            """Money that was reserved for calls of an HTTP process that has died since. Those of a job are the engine's."""
            return {"settled": await work._arun(settle_lost_calls(self.limits.longest + MARGIN_S))}

    # -- for estimates

    @property
    def warnings(self) -> list[str]:
        return list(dict.fromkeys(one.warning for one in self.prices if one.warning))

    def seconds(self, calls: int, usage: Usage, *, per_call: float = 5.0) -> float:
        """How long so many calls take at today's limits: at a time, per minute, tokens per minute."""
        limits = self.limits
        times = [calls * per_call / limits.concurrency]
        if limits.requests:
            times.append(calls * 60 / limits.requests)
        if limits.tokens:
            times.append((usage.tokens_in + usage.tokens_out) * 60 / limits.tokens)
        return max(times)


class _Maker:
    """Reads the settings once, and says at once what is wrong with them."""

    def __init__(self, settings: KgSettings, work: Lanework) -> None:
        self._settings, self._work = settings, work
        self._ledger = Ledger(work)
        self._prices = Prices.load(settings.prices)
        self._used: list[Price] = []
        self._calls: dict[str, Calls] = {}
        self._clients: dict[str, Any] = {}
        self._limits = Limits(
            settings.model_concurrency,
            settings.model_requests,
            settings.model_tokens,
            settings.model_timeout,
            settings.model_retries,
        )
        for key in (settings.openai_key, settings.anthropic_key):
            if len(key) >= SHORTEST:
                work.secrets.add(key)

    def models(self) -> Models:
        settings = self._settings
        embed = self._embed(*_named("KG_EMBED", settings.embed, ("local", "local:FOLDER", "openai:MODEL")))
        chat, extractor = self._reader(*_named("KG_CHAT", settings.chat, ("local", "openai:MODEL", "anthropic:MODEL")))
        return Models(
            embed, extractor, chat, limits=self._limits, prices=self._used, closing=[*self._calls.values(), *self._clients.values()]
        )

    def _embed(self, provider: str, model: str) -> Embed:
        if provider == "local":
            return OwnEmbed(self._ledger, folder=model, threads=self._settings.local_threads)
        price = self._price(model)
        return OpenAIEmbed(self._openai(), model, self._of(provider), price, dimensions=self._settings.embed_dimensions)

    def _reader(self, provider: str, model: str) -> tuple[Chat | None, Extractor]:
        if provider == "local":
            return None, OwnExtractor(self._ledger)
        price = self._price(model)
        chat: Chat
        if provider == "openai":
            chat = OpenAIChat(self._openai(), model, self._of(provider), price, own_server=bool(self._settings.openai_url))
        else:
            chat = AnthropicChat(self._anthropic(), model, self._of(provider), price)
        return chat, ChatExtractor(chat, price=price)

    def _of(self, provider: str) -> Calls:
        return self._calls.setdefault(provider, Calls(self._work, provider, self._ledger, self._limits))

    def _price(self, model: str) -> Price:
        self._used.append(self._prices.of(model))
        return self._used[-1]

    def _openai(self) -> OpenAIClient:
        settings = self._settings
        _installed("openai")
        if not settings.openai_key and not settings.openai_url:
            raise ConfigError("KG_OPENAI_KEY: OpenAI needs a key; or name a server of your own with KG_OPENAI_URL")
        client = OpenAIClient(settings.openai_url, settings.openai_key, settings.model_timeout)
        found: OpenAIClient = self._clients.setdefault("openai", client)
        return found

    def _anthropic(self) -> AnthropicClient:
        settings = self._settings
        _installed("anthropic")
        if not settings.anthropic_key and not settings.anthropic_url:
            raise ConfigError("KG_ANTHROPIC_KEY: Anthropic needs a key; or name a server of your own with KG_ANTHROPIC_URL")
        client = AnthropicClient(settings.anthropic_url, settings.anthropic_key, settings.model_timeout)
        found: AnthropicClient = self._clients.setdefault("anthropic", client)
        return found


def _named(setting: str, value: str, ways: Sequence[str]) -> tuple[str, str]:
    provider, _, model = value.partition(":")
    if (provider, bool(model)) not in {(way.partition(":")[0], ":" in way) for way in ways}:
        raise ConfigError(f"{setting}: expected {' or '.join(ways)}, got {value!r}")
    return provider, model


def _installed(package: str) -> None:
    if find_spec(package) is None:
        raise ConfigError(f"the package {package} is not installed: pip install 'lanework[{package}]'")
