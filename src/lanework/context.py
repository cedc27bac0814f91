"""What a handler can do: `ctx`, always its first parameter. Sync methods are for sync bodies; their twins with an `a` for async
ones."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload
from uuid import uuid4

from lanework.errors import ClaimLost, InvalidResult, JobStopped

if TYPE_CHECKING:
    import psycopg

    from lanework._children import ChildHandle, ChildResult
    from lanework._limits.asked import Scope
    from lanework._mapping import Mapped
    from lanework._steps import Steps
    from lanework._store.claims import Held
    from lanework._store.keeper import AsyncKeeper, Keeper
    from lanework._transactions import AsyncTransaction, Transaction
    from lanework.budgets import Amount, Reservation
    from lanework.job import Submitter
    from lanework.permits import Permit

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Item = TypeVar("Item")


class Link(Protocol):
    """How a context reaches the worker: directly in its process, over a private pipe from a child."""

    def tell(self, op: str, data: dict[str, Any]) -> None:
        """Fire and forget: `progress`, `log`, `finished`."""

    def ask(self, op: str, data: dict[str, Any]) -> Any:
        """Waits for the answer; raises what the worker raised. For sync bodies."""

    async def aask(self, op: str, data: dict[str, Any]) -> Any:
        """The same for async bodies."""

    def database(self) -> Keeper:
        """Connections for the handler's blobs, and `for_blocks` for its transactions; never those that the engine writes with."""

    async def adatabase(self) -> AsyncKeeper: ...


class Context:
    """One attempt of one job, from the inside.

    Everything written through it is fenced: once the attempt is superseded, writes raise `ClaimLost`.
    """

    __slots__ = (
        "_blocks", "_cancel_reason", "_claim", "_declared", "_failed_items", "_item_errors", "_link", "_lost", "_past", "_saved",
        "_steps_", "_worker_id", "attempt", "fence", "job_id", "lane", "owner", "tries_used", "type",
    )  # fmt: skip

    def __init__(
        self, link: Link, *, job_id: int, attempt: int, fence: int, type: str, lane: str, tries_used: int = 0,
        owner: str | None = None, saved: Any = None, claim: str = "", worker_id: int = 0, past: bool = False,
        declared: Iterable[str] = (),
    ) -> None:  # fmt: skip
        self._link = link
        self._saved = saved
        self._cancel_reason: str | None = None
        self._lost = False
        self._claim = claim
        self._worker_id = worker_id
        self._past = past
        self._declared = tuple(declared)
        self._blocks: list[int] = []  # open transactions, in whatever threads
        self._item_errors: list[dict[str, Any]] = []
        self._failed_items: list[dict[str, Any]] = []
        self._steps_: Steps | None = None
        self.job_id = job_id
        self.attempt = attempt
        self.fence = fence
        self.type = type
        self.lane = lane
        self.tries_used = tries_used
        self.owner = owner

    # -- saying something ----------------------------------------------------------------------------------------------

    def progress(self, fraction: float | None = None, message: str = "", **data: Any) -> None:
        """Says how far the job is (0 to 1), shown live and kept. Cheap: sent at most a few times a second."""
        self._check_lost()
        self._link.tell("progress", {"fraction": fraction, "message": message, "data": data})

    def log(self, message: str, *, level: str = "info") -> None:
        """One entry in the job's own log."""
        self._link.tell("log", {"stream": level, "text": message})

    # -- steps ---------------------------------------------------------------------------------------------------------

    def step(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs `fn` once in the life of this job: its result is stored, and every later attempt gets the stored one."""
        found: R = self._steps.run(name, fn, args, kwargs)
        return found

    @overload
    async def astep(self, name: str, fn: Callable[P, Coroutine[Any, Any, R]], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    async def astep(self, name: str, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def astep(self, name: str, fn: Callable[P, Any], /, *args: P.args, **kwargs: P.kwargs) -> Any:
        """`step` for async handlers; `fn` may be either."""
        return await self._steps.arun(name, fn, args, kwargs)

    def map(self, name: str, items: Iterable[Item], fn: Callable[[Item], R], *, concurrency: int = 8) -> Mapped[R]:
        """A step per item, `concurrency` at a time in threads; order is kept. Items that fail are left out of the result, and
        the job then ends partial, with a record of each."""
        from lanework._mapping import Mapping as Run  # noqa: PLC0415 - most jobs have no map

        return Run(self, name, items, fn, concurrency).run()

    @overload
    async def amap(
        self, name: str, items: Iterable[Item], fn: Callable[[Item], Awaitable[R]], *, concurrency: int = 8
    ) -> Mapped[R]: ...

    @overload
    async def amap(self, name: str, items: Iterable[Item], fn: Callable[[Item], R], *, concurrency: int = 8) -> Mapped[R]: ...

    async def amap(self, name: str, items: Iterable[Item], fn: Callable[[Item], Any], *, concurrency: int = 8) -> Mapped[Any]:
        from lanework._mapping import Mapping as Run  # noqa: PLC0415

        return await Run(self, name, items, fn, concurrency).arun()

    # -- effects exactly once ------------------------------------------------------------------------------------------

    def transact(
        self, name: str, fn: Callable[Concatenate[psycopg.Connection[Any], P], R], /, *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Runs `fn(db, …)` in a fenced transaction that also stores the step: its effects happen exactly once, and a later
        attempt gets the stored result without calling it."""
        from lanework import _transactions  # noqa: PLC0415

        found: R = _transactions.transact(self, name, fn, args, kwargs)
        return found

    async def atransact(
        self, name: str, fn: Callable[Concatenate[psycopg.AsyncConnection[Any], P], Coroutine[Any, Any, R]], /,
        *args: P.args, **kwargs: P.kwargs,
    ) -> R:  # fmt: skip
        from lanework import _transactions  # noqa: PLC0415

        found: R = await _transactions.atransact(self, name, fn, args, kwargs)
        return found

    def transaction(self, timeout: float = 5.0) -> AbstractContextManager[Transaction]:
        """A fenced transaction. Exactly once only if it ends with `tx.finish(result)`: without, it is atomic, but runs again
        if the job does."""
        from lanework import _transactions  # noqa: PLC0415

        return _transactions.open_transaction(self, timeout)

    def atransaction(self, timeout: float = 5.0) -> AbstractAsyncContextManager[AsyncTransaction]:
        from lanework import _transactions  # noqa: PLC0415

        return _transactions.aopen_transaction(self, timeout)

    def idempotency_key(self, step: str = "") -> str:
        """A key for outside effects that is the same in every attempt of this job."""
        return f"lanework-{self.job_id}-{step}" if step else f"lanework-{self.job_id}"

    # -- state and large values ----------------------------------------------------------------------------------------

    def checkpoint(self, state: Any) -> None:
        """Stores the handler's own small state; the next attempt finds it in `ctx.saved`. Durable when it returns."""
        self._link.ask("checkpoint", {"state": state})
        self._saved = state

    async def acheckpoint(self, state: Any) -> None:
        """`checkpoint` for async handlers."""
        await self._link.aask("checkpoint", {"state": state})
        self._saved = state

    @property
    def saved(self) -> Any:
        """The last checkpoint of any attempt of this job, or None."""
        return self._saved

    def put_blob(self, data: bytes) -> str:
        """Stores bytes by the hash of their content, and answers it; kept as long as the job's steps."""
        from lanework._store.inside import save_blob  # noqa: PLC0415

        name = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if not self._link.database().run(save_blob(self._held, name, data)):
            raise self._superseded("its blob was refused")
        return name

    async def aput_blob(self, data: bytes) -> str:
        from lanework._store.inside import save_blob  # noqa: PLC0415

        name = f"sha256:{hashlib.sha256(data).hexdigest()}"
        if not await (await self._link.adatabase()).run(save_blob(self._held, name, data)):
            raise self._superseded("its blob was refused")
        return name

    def get_blob(self, name: str) -> bytes:
        from lanework._store.inside import get_blob  # noqa: PLC0415

        return _found(name, self._link.database().run(get_blob(name)))

    async def aget_blob(self, name: str) -> bytes:
        from lanework._store.inside import get_blob  # noqa: PLC0415

        return _found(name, await (await self._link.adatabase()).run(get_blob(name)))

    # -- what it costs -------------------------------------------------------------------------------------------------

    def spent(self, amount: float = 0.0, *, tokens: int = 0, items: int = 0, currency: str = "USD", key: str = "") -> None:
        """Tells what was really spent: it is added up beside the estimate, in `app.get(id).actual`. It has happened, so it is taken
        even if this attempt is superseded. The same `key` is the same fact, told twice."""
        self._link.ask("spent", _spending(amount, tokens, items, currency, key))

    async def aspent(self, amount: float = 0.0, *, tokens: int = 0, items: int = 0, currency: str = "USD", key: str = "") -> None:
        await self._link.aask("spent", _spending(amount, tokens, items, currency, key))

    # -- children ------------------------------------------------------------------------------------------------------

    def submit_child(self, name: str, job: Submitter[Q, Any], /, *args: Q.args, **kwargs: Q.kwargs) -> ChildHandle:
        """Submits a job below this one, once per name, whatever runs again. Join with `return Wait([child])`."""
        from lanework import _children  # noqa: PLC0415

        data = _children.request(job, [name], [job.handler.bind(*args, **kwargs)])
        return _children.handles(self._link.ask("submit_children", data))[0]

    async def asubmit_child(self, name: str, job: Submitter[Q, Any], /, *args: Q.args, **kwargs: Q.kwargs) -> ChildHandle:
        from lanework import _children  # noqa: PLC0415

        data = _children.request(job, [name], [job.handler.bind(*args, **kwargs)])
        return _children.handles(await self._link.aask("submit_children", data))[0]

    def submit_children(
        self, name: str, job: Submitter[..., Any], items: Iterable[tuple[Any, ...] | Mapping[str, Any]]
    ) -> list[ChildHandle]:
        """Many at once: the children are called `name[0]`, `name[1]`, …"""
        from lanework import _children  # noqa: PLC0415

        found = [self._link.ask("submit_children", batch) for batch in _children.batches(job, name, items)]
        return _children.handles(row for rows in found for row in rows)

    async def asubmit_children(
        self, name: str, job: Submitter[..., Any], items: Iterable[tuple[Any, ...] | Mapping[str, Any]]
    ) -> list[ChildHandle]:
        from lanework import _children  # noqa: PLC0415

        found = [await self._link.aask("submit_children", batch) for batch in _children.batches(job, name, items)]
        return _children.handles(row for rows in found for row in rows)

    @property
    def children(self) -> list[ChildResult]:
        """This job's children, in the order of their submit. After a `Wait` all have ended."""
        from lanework import _children  # noqa: PLC0415

        return _children.results(self._link.ask("children", {})) if self._past else []

    async def achildren(self) -> list[ChildResult]:
        from lanework import _children  # noqa: PLC0415

        return _children.results(await self._link.aask("children", {})) if self._past else []

    # -- limits ----------------------------------------------------------------------------------------------------------

    def permit(
        self, *names: str, capacity: int | None = None, wait: float | None = None, ttl: float | None = None,
        scope: Scope = "cluster",
    ) -> Permit:  # fmt: skip
        """`with ctx.permit("openai", capacity=8):` for a part of the body; `async with` in async ones. The slot is kept while it
        waits, 5 s unless `wait` says otherwise; then `PermitBusy` is raised, which parks the job until the permit is free."""
        from lanework._limits.asked import Asked  # noqa: PLC0415
        from lanework._limits.inside import JobSource  # noqa: PLC0415
        from lanework.permits import Permit  # noqa: PLC0415

        return Permit(JobSource(self), Asked.checked(names, capacity, scope, ttl), wait)

    apermit = permit

    def reserve(
        self, amount: Amount | None = None, *, tokens: int | None = None, price: Amount | None = None, what: str = "",
        budgets: Iterable[str] = (),
    ) -> Reservation:  # fmt: skip
        """Reserves what a call can cost at most; `settle` it with what it has. `BudgetExceeded` parks the job."""
        return self._reservation(amount, tokens, price, what, budgets)._reserve()

    async def areserve(
        self, amount: Amount | None = None, *, tokens: int | None = None, price: Amount | None = None, what: str = "",
        budgets: Iterable[str] = (),
    ) -> Reservation:  # fmt: skip
        return await self._reservation(amount, tokens, price, what, budgets)._areserve()

    def spend(
        self, what: str = "", *, upto: Amount | None = None, tokens: int | None = None, price: Amount | None = None,
        budgets: Iterable[str] = (),
    ) -> Reservation:  # fmt: skip
        """`with ctx.spend("openai", upto=0.12) as call: …; call.settle(0.03)`, or `async with` and `asettle`."""
        return self._reservation(upto, tokens, price, what, budgets)

    def _reservation(
        self, amount: Amount | None, tokens: int | None, price: Amount | None, what: str, budgets: Iterable[str]
    ) -> Reservation:
        from lanework.budgets import Reservation, upper_bound  # noqa: PLC0415

        return Reservation(self, upper_bound(amount, tokens, price), what, list(budgets))

    # -- other lanes ---------------------------------------------------------------------------------------------------

    def freeze(self, lanes: Sequence[str], *, reason: str = "", timeout: float | None = None) -> AbstractContextManager[int]:
        """`with ctx.freeze(["interactive", "books"]):` the block begins when nothing but this job runs in these lanes, and nothing
        starts there until it ends. The hold is this run's: it ends with it, by whatever path, and each lane is as its settings
        say. `timeout`: how long to wait for running jobs; without one, for as long as they take."""
        from lanework.freezes import hold_inside  # noqa: PLC0415

        return hold_inside(self, self._link.database(), lanes, reason, timeout)

    def afreeze(self, lanes: Sequence[str], *, reason: str = "", timeout: float | None = None) -> AbstractAsyncContextManager[int]:
        from lanework.freezes import ahold_inside  # noqa: PLC0415

        return ahold_inside(self, lanes, reason, timeout)

    # -- being stopped -------------------------------------------------------------------------------------------------

    @property
    def cancelled(self) -> bool:
        """True once the job must stop: it was cancelled, timed out, or its claim is gone. Look at it in loops."""
        return self._cancel_reason is not None or self._lost

    def raise_if_cancelled(self) -> None:
        """Ends the body here if the job must stop."""
        self._check_lost()
        if self._cancel_reason is not None:
            raise JobStopped(f"job {self.job_id} was asked to stop: {self._cancel_reason}")

    def _stop(self, reason: str, *, lost: bool = False) -> None:
        self._cancel_reason = reason
        self._lost = self._lost or lost

    def _check_lost(self) -> None:
        if self._lost:
            raise self._superseded("nothing more is written for it")

    def _superseded(self, what: str) -> ClaimLost:
        self._lost = True
        return ClaimLost(f"job {self.job_id}: attempt {self.attempt} was superseded; {what}")

    # -- for the engine ------------------------------------------------------------------------------------------------

    @property
    def _held(self) -> Held:
        from lanework._store.claims import Held  # noqa: PLC0415

        return Held(self.job_id, self.attempt, self._claim)

    @property
    def _steps(self) -> Steps:
        if self._steps_ is None:
            from lanework._steps import Steps  # noqa: PLC0415

            self._steps_ = Steps(self)
        return self._steps_

    def __repr__(self) -> str:
        return f"<Context job={self.job_id} type={self.type!r} attempt={self.attempt}>"

    def _describe(self) -> Mapping[str, Any]:
        """What a child process needs to rebuild this context."""
        return {
            "job_id": self.job_id, "attempt": self.attempt, "fence": self.fence, "type": self.type, "lane": self.lane,
            "tries_used": self.tries_used, "owner": self.owner, "saved": self._saved, "claim": self._claim,
            "worker_id": self._worker_id, "past": self._past, "declared": list(self._declared),
        }  # fmt: skip


def _spending(amount: float, tokens: int, items: int, currency: str, key: str) -> dict[str, Any]:
    for name, value in (("amount", amount), ("tokens", tokens), ("items", items)):
        if not 0 <= value < 1e12:
            raise InvalidResult(f"spent: expected {name} to be a number from 0 on, got {value!r}")
    return {"amount": float(amount), "tokens": int(tokens), "items": int(items), "currency": currency, "key": key or uuid4().hex}


def _found(name: str, data: bytes | None) -> bytes:
    if data is None:
        raise KeyError(f"there is no blob {name}; blobs are kept for some days after their job has ended")
    return data


#: The context of the job whose code runs here, if any.
inside: ContextVar[Context | None] = ContextVar("lanework_inside", default=None)
