"""Money for one call: reserved by the most that it can cost, settled by what it has cost. In a job its budgets count, elsewhere
those of the owner, of the day and of the provider."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol
from uuid import uuid4

from kg._store import models as store
from lanework import Lanework
from lanework.budgets import Reservation, cost
from lanework.context import Context
from lanework.errors import BudgetExceeded


class Spending(Protocol):
    async def settle(self, amount: float) -> None: ...
    async def release(self) -> None:
        """The call was not made, or is not on the bill."""

    async def lose(self) -> None:
        """Nobody knows: it counts, whole."""


class Free:
    """A call that costs nothing reserves nothing."""

    async def settle(self, amount: float) -> None: ...
    async def release(self) -> None: ...
    async def lose(self) -> None: ...


class InJob:
    def __init__(self, reservation: Reservation) -> None:
        self._reservation = reservation

    async def settle(self, amount: float) -> None:
        await self._reservation.asettle(amount)

    async def release(self) -> None:
        await self._reservation.arelease()

    async def lose(self) -> None:
        await self._reservation.__aexit__(None, None, None)


class Outside:
    def __init__(self, work: Lanework, id: str) -> None:
        self._work, self._id = work, id

    async def settle(self, amount: float) -> None:
        await self._work._arun(store.settle(self._id, cost(amount, "actual")))

    async def release(self) -> None:
        await self._work._arun(store.release(self._id))

    async def lose(self) -> None:
        await self._work._arun(store.settle(self._id, None))


async def reserve(work: Lanework, context: Context | None, provider: str, upto: float, owner: str | None) -> Spending:
    """Raises `BudgetExceeded`: out of a job's handler that parks the job until the budget has so much again."""
    if upto <= 0:
        return Free()
    if context is not None:
        return InJob(await context.areserve(upto, what=provider))
    id, amount = str(uuid4()), cost(upto, "amount")
    refused = await work._arun(store.reserve_outside(id, amount, provider, owner))
    if refused is not None:
        raise _exceeded(refused.budget, refused.left, amount)
    return Outside(work, id)


def _exceeded(budget: str, left: Decimal, amount: Decimal) -> BudgetExceeded:
    return BudgetExceeded(
        f"budget {budget!r} has {left} left, and this call may cost {amount}: raise it, or wait for its next period", budget=budget
    )
