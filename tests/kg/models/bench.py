"""An application whose one job calls models, by a provider that fails as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg

from kg._store.schema import prepare
from kg.config import KgSettings
from kg.models.models import Models
from kg.parts import Message
from lanework import Context, Handle, JobInfo, Lanework
from lanework.testing import adrain
from tests.kg.provider import Provider

KEY = "sk-canary-5f1e"
ASKED = [Message("user", "Ada Lovelace wrote a program for Charles Babbage.")]
PRICES = '{"date": "2026-11-01", "models": {"m": [1000, 2000], "e": [10, 0]}}'


class Bench:
    """An application with one job, which does what the test says, and models by the fake provider."""

    def __init__(self, dsn: str, provider: Provider, folder: Path) -> None:
        self.dsn, self.provider, self.folder = dsn, provider, folder
        self.work = Lanework(dsn, connections=8)
        self.todo: Callable[[Context], Awaitable[Any]]
        self.work.lane("calls", max_slots=None, poll_interval_ms=100)

        @self.work.job(lane="calls", max_tries=1)
        async def does(ctx: Context, part: int = 0) -> Any:
            return await self.todo(ctx)

        self.does = does
        prepare(self.work)
        (folder / "prices.json").write_text(PRICES)
        self.models = self.make()

    def make(self, **settings: Any) -> Models:
        given = {
            "chat": "openai:m", "embed": "openai:e", "openai_url": self.provider.openai, "openai_key": KEY, "model_timeout": 20.0,
            "prices": str(self.folder / "prices.json"), **settings,
        }  # fmt: skip
        models = Models.from_settings(KgSettings.load({}, **given), self.work)
        for calls in (part for part in models._closing if hasattr(part, "limits")):
            object.__setattr__(calls.limits, "base", 0.01)
        return models

    def run(self, what: Awaitable[Any]) -> Any:
        async def alone() -> Any:
            try:
                return await what
            finally:
                await self.models.close()
                await self.work._close_loop()

        return asyncio.run(alone())

    def jobs(self, todo: Callable[[Context], Awaitable[Any]], many: int = 1, **options: Any) -> list[JobInfo]:
        """Runs that many, to their end or until they wait for something."""
        self.todo = todo
        handles: list[Handle[Any]] = [self.does.options(**options).submit(number) for number in range(many)]
        self.run(adrain(self.work))
        return [self.work.get(one.id) for one in handles]

    def job(self, todo: Callable[[Context], Awaitable[Any]], **options: Any) -> JobInfo:
        return self.jobs(todo, **options)[0]

    def rows(self, sql: str) -> list[Any]:
        with psycopg.connect(self.dsn) as conn:
            return conn.execute(sql.encode()).fetchall()

    def outcomes(self) -> dict[str, int]:
        return dict(self.rows("select outcome, count(*) from kg.model_calls group by 1"))


async def ask(bench: Bench) -> str:
    assert bench.models.chat is not None
    return (await bench.models.chat.chat(ASKED, max_tokens=100)).text
