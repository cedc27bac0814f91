"""`/admin/budgets`: money (or any amount) per job, owner, day, and what was spent of it."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from fastapi import Query
from pydantic import Field

from lanework.api.fields import LARGEST, Body, Change, Limit, shown
from lanework.api.gate import Routes, Who
from lanework.budgets import BudgetInfo, ReservationInfo
from lanework.client import Lanework


class Budget(Body):
    """`per`: the period after which it begins anew; left out, it stays as it is (`total` for a new one)."""

    amount: Annotated[Decimal, Field(ge=0, lt=10**14, allow_inf_nan=False, max_digits=20, decimal_places=6)]
    per: Literal["hour", "day", "month", "total"] | None = None


class Budgets:
    def __init__(self, app: Lanework) -> None:
        self.app = app

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("GET", "/admin/budgets", self.budgets, needs="budgets:read", tags=["budgets"])
        add("GET", "/admin/budgets/reservations", self.reservations, needs="budgets:read", tags=["budgets"])
        add("GET", "/admin/budgets/{name:path}", self.get, needs="budgets:read", tags=["budgets"])
        add("PUT", "/admin/budgets/{name:path}", self.set, needs="budgets:manage", tags=["budgets"])
        add("DELETE", "/admin/budgets/{name:path}", self.remove, needs="budgets:manage", status_code=204, tags=["budgets"])

    async def budgets(self) -> list[BudgetInfo]:
        """All budgets, each in its present period."""
        return await self.app.budgets.alist()

    async def reservations(
        self,
        job: Annotated[int | None, Query(ge=1, le=LARGEST)] = None,
        budget: str | None = None,
        limit: Limit = 100,
    ) -> list[ReservationInfo]:
        """What was reserved before calls and settled after them, newest first."""
        return await self.app.budgets.areservations(job=job, budget=budget, limit=limit)

    async def get(self, name: str) -> BudgetInfo:
        """One budget."""
        return await self.app.budgets.aget(name)

    async def set(self, who: Who, name: str, budget: Budget) -> Change:
        """Creates it or changes it. Jobs that fit now go on."""
        return shown(await self.app.budgets.aset(name, budget.amount, per=budget.per, by=who.name))

    async def remove(self, who: Who, name: str) -> None:
        """No limit any more; what was spent stays known."""
        await self.app.budgets.aremove(name, by=who.name)
