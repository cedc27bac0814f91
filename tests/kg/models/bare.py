"""Calls that are made at once and once, with no limits and no ledger."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from kg.models.calling import Call
from kg.models.failing import meaning
from kg.models.turns import Turn, turn_here
from kg.parts import Usage


class AnyTime(Turn):
    """There is nothing to wait for."""

    def __init__(self) -> None: ...

    async def send(self, client: Any, request: Any, options: dict[str, Any]) -> Any:
        return await client(request, **options)


@dataclass
class Bare:
    """Makes each call once, and keeps what was asked for."""

    provider: str = "fake"
    timeout: float = 30.0
    made: list[Call[Any]] = field(default_factory=list)

    async def make(self, call: Call[Any]) -> tuple[Any, Usage]:
        self.made.append(call)
        token = turn_here.set(AnyTime())
        try:
            async with asyncio.timeout(self.timeout):
                got = await call.ask()
        except Exception as error:
            raise meaning(error, self.provider, lambda text: text.replace("sk-secret", "•••")) from error
        finally:
            turn_here.reset(token)
        call.check(got.value)
        return got.value, call.price.of(got.tokens_in, got.tokens_out)
