"""Budgets: money (or any amount) per job, owner, day: reserved before a call by its upper bound, settled after it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

from lanework._limits.change import LimitChange, change
from lanework._store import budgets as store
from lanework._store.verb import Row
from lanework.errors import BudgetExceeded, BudgetNotFound, InvalidBudget

if TYPE_CHECKING:
    from lanework.client import Lanework
    from lanework.context import Context

Amount = Decimal | float | int
Per = Literal["hour", "day", "month", "total"]


def amount_of(value: Any, field: str) -> Decimal:
    try:
        found = Decimal(str(value)) if not isinstance(value, bool) else Decimal("NaN")
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite() or not 0 <= found < Decimal(10) ** 14:
        raise InvalidBudget(f"{field}: expected an amount of 0 or more, got {value!r}")
    return found


def cost(value: Any, field: str) -> Decimal:
    """In millionths, rounded up: many small calls are not free. (What a float adds in its last places is no cost.)"""
    return _up(amount_of(value, field))


def _up(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("1e-9")).quantize(Decimal("1e-6"), rounding=ROUND_CEILING)


def upper_bound(amount: Amount | None, tokens: int | None, price: Amount | None) -> Decimal:
    """What a call can cost at most: said, or tokens times the price of one."""
    if amount is not None:
        return cost(amount, "amount")
    if tokens is None or price is None:
        raise InvalidBudget("amount: a reservation needs an upper bound: an amount, or tokens with the price of one")
    return _up(amount_of(tokens, "tokens") * amount_of(price, "price"))


class Reservation:
    """Keyed by its own id: what a call has cost is stored whether or not the job's claim still holds.

    `with` settles it as spent, whole, if the block ends without `settle` or `release`: nobody knows whether the call was made.
    """

    def __init__(self, context: Context, amount: Decimal, what: str, budgets: Sequence[str]) -> None:
        self._context, self.amount, self.what, self._budgets = context, amount, what, list(budgets)
        self.id = str(uuid4())
        self._open = False

    # sync

    def _reserve(self) -> Self:
        self._taken(self._context._link.ask("reserve", self._request()))
        return self

    def settle(self, actual: Amount) -> None:
        """What it has cost. Twice is once."""
        self._ended(self._context._link.ask("settle_reservation", {"id": self.id, "actual": str(cost(actual, "actual"))}))

    def release(self) -> None:
        """The call was not made."""
        self._ended(self._context._link.ask("release_reservation", {"id": self.id}))

    def __enter__(self) -> Self:
        return self if self._open else self._reserve()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._open:
            self._ended(self._context._link.ask("settle_reservation", {"id": self.id, "actual": None}))

    # async

    async def _areserve(self) -> Self:
        self._taken(await self._context._link.aask("reserve", self._request()))
        return self

    async def asettle(self, actual: Amount) -> None:
        told = {"id": self.id, "actual": str(cost(actual, "actual"))}
        self._ended(await self._context._link.aask("settle_reservation", told))

    async def arelease(self) -> None:
        self._ended(await self._context._link.aask("release_reservation", {"id": self.id}))

    async def __aenter__(self) -> Self:
        return self if self._open else await self._areserve()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._open:
            self._ended(await self._context._link.aask("settle_reservation", {"id": self.id, "actual": None}))

    def _request(self) -> dict[str, Any]:
        return {"id": self.id, "amount": str(self.amount), "what": self.what, "budgets": self._budgets}

    def _taken(self, refused: Any) -> None:
        if refused is not None:
            budget, left = refused
            raise BudgetExceeded(
                f"budget {budget!r} has {left} left, and this call may cost {self.amount}: raise it, or wait for its next period",
                budget=budget,
            )
        self._open = True

    def _ended(self, state: Any) -> None:
        self._open = False

    def __repr__(self) -> str:
        return f"<Reservation {self.amount} {self.what!r}>"


@dataclass(frozen=True, slots=True)
class BudgetInfo:
    """A budget in its present period. `waiting`: jobs that are parked until it allows them."""

    name: str
    amount: Decimal
    per: Per
    spent: Decimal
    reserved: Decimal
    waiting: int
    set_by: str
    updated_at: datetime

    @property
    def left(self) -> Decimal:
        return self.amount - self.spent - self.reserved


@dataclass(frozen=True, slots=True)
class ReservationInfo:
    """`state`: open, settled (`actual` is known), released, or unknown (its owner died: it counts as spent, whole)."""

    id: str
    at: datetime
    amount: Decimal
    actual: Decimal | None
    state: str
    what: str
    job_id: int | None
    budgets: tuple[str, ...]


class Budgets:
    """`app.budgets`: each verb has an async twin with an `a` in front.

    These names apply by themselves to every reservation of a job, where they exist: `job:<id>`, `owner:<owner>`, `day`, and what
    the reservation is for. Others are named by it.
    """

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def set(self, name: str, amount: Amount, *, per: Per | None = None, by: str = "operator") -> LimitChange:
        """Creates or changes it. Jobs that fit now go on."""
        return change(name, self._app._run(store.set_budget(name, amount_of(amount, "amount"), per, by)))

    async def aset(self, name: str, amount: Amount, *, per: Per | None = None, by: str = "operator") -> LimitChange:
        return change(name, await self._app._arun(store.set_budget(name, amount_of(amount, "amount"), per, by)))

    def remove(self, name: str, *, by: str = "operator") -> None:
        """No limit any more; what was spent stays known."""
        _must(name, self._app._run(store.remove_budget(name, by)))

    async def aremove(self, name: str, *, by: str = "operator") -> None:
        _must(name, await self._app._arun(store.remove_budget(name, by)))

    def list(self) -> builtins.list[BudgetInfo]:
        return self._app._run(store.list_budgets(None, _row))

    async def alist(self) -> builtins.list[BudgetInfo]:
        return await self._app._arun(store.list_budgets(None, _row))

    def get(self, name: str) -> BudgetInfo:
        return _one(name, self._app._run(store.list_budgets(name, _row)))

    async def aget(self, name: str) -> BudgetInfo:
        return _one(name, await self._app._arun(store.list_budgets(name, _row)))

    def reservations(
        self, *, job: int | None = None, budget: str | None = None, limit: int = 100
    ) -> builtins.list[ReservationInfo]:
        """Newest first."""
        return [_reservation(row) for row in self._app._run(store.list_reservations(job=job, budget=budget, limit=limit))]

    async def areservations(
        self, *, job: int | None = None, budget: str | None = None, limit: int = 100
    ) -> builtins.list[ReservationInfo]:
        return [_reservation(row) for row in await self._app._arun(store.list_reservations(job=job, budget=budget, limit=limit))]


def _must(name: str, found: bool) -> None:
    if not found:
        raise BudgetNotFound(f"there is no budget {name!r}")


def _row(row: Row) -> BudgetInfo:
    return BudgetInfo(*row)


def _reservation(row: Row) -> ReservationInfo:
    fields = [*row[:-1], tuple(row[-1])]
    return ReservationInfo(*fields)


def _one(name: str, found: builtins.list[BudgetInfo]) -> BudgetInfo:
    if not found:
        raise BudgetNotFound(f"there is no budget {name!r}")
    return found[0]
