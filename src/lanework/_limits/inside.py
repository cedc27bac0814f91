"""Permits inside a job: its worker takes them, wherever the body runs, and gives back what the body leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanework._limits.asked import Asked, check_order
from lanework._limits.source import WAIT_IN_BODY_S, Given
from lanework.errors import InvalidLimit, PermitBusy

if TYPE_CHECKING:
    from lanework.context import Context


@dataclass(frozen=True, slots=True)
class Told:
    """A hold that the worker has for this job."""

    token: str
    fence: int


class JobSource:
    wait = WAIT_IN_BODY_S

    def __init__(self, context: Context) -> None:
        self._context = context
        self.who: object = ("job", context.job_id)

    def take(self, asked: Asked, wait: float) -> Given:
        return self._taken(self._context._link.ask("permit_take", self._request(asked, wait)))

    async def atake(self, asked: Asked, wait: float) -> Given:
        return self._taken(await self._context._link.aask("permit_take", self._request(asked, wait)))

    def give(self, given: Given) -> None:
        self._context._link.ask("permit_give", {"token": given.token})

    async def agive(self, given: Given) -> None:
        await self._context._link.aask("permit_give", {"token": given.token})

    def _request(self, asked: Asked, wait: float) -> dict[str, Any]:
        if asked.ttl is not None:
            raise InvalidLimit("ttl: a hold inside a job ends with it; use app.permits.acquire for one that outlives it")
        check_order(self._context._declared, asked.shown, wait)
        return {"names": list(asked.names), "capacity": asked.capacity, "scope": asked.scope, "wait": wait}

    @staticmethod
    def _taken(answer: dict[str, Any]) -> Told:
        if "busy" in answer:
            raise PermitBusy(answer["busy"], name=answer["name"])
        return Told(answer["token"], answer["fence"])
