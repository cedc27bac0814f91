"""How every call of a provider is made: reserve → make the request → permit → rate → send → give the permit back → read → settle
→ ledger.

A call that is throttled waits, for as long as its job may run, and never fails for it; the pause is the whole cluster's. Other
failures that may pass are tried again a limited number of times. Inside a job all of this is the job's: its budgets, its cancel.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar
from uuid import uuid4

from kg._store.models import CallRow
from kg.errors import ModelError, ModelThrottled
from kg.models.failing import meaning
from kg.models.ledger import Ledger
from kg.models.prices import Price
from kg.models.spending import Spending, reserve
from kg.models.throttle import Throttle
from kg.models.turns import Turn, Turns, turn_here
from kg.parts import Usage
from lanework import Lanework
from lanework.context import inside
from lanework.errors import LaneworkError
from lanework.retries import backoff

logger = logging.getLogger("kg")
T = TypeVar("T")

LONGEST_WAIT_S = 60.0


class Got(NamedTuple, Generic[T]):
    """What a provider answered, and what it says that it has counted."""

    value: T
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True)
class Call(Generic[T]):
    """One question. `ask` asks once, by a `gated` client; `check` raises what is wrong with the answer; `upto` is the most that
    it can use."""

    model: str
    price: Price
    ask: Callable[[], Awaitable[Got[T]]]
    check: Callable[[T], None]
    upto: Usage
    likely_in: int
    purpose: str


@dataclass(frozen=True)
class Limits:
    """Of one provider, for the whole cluster; 0: none. First values: later the rows of permit and rate decide."""

    concurrency: int = 8
    requests: int = 0
    tokens: int = 0
    timeout: float = 120.0
    retries: int = 5
    base: float = 0.5  # seconds before the first of them; each next one twice as long

    @property
    def longest(self) -> float:
        """Seconds that money can be reserved for one call outside of a job: it waits for a permit, for a rate, for the answer."""
        return 3 * self.timeout


class _For(NamedTuple):
    purpose: str | None = None
    owner: str | None = None


_NOTHING = _For()
_for: ContextVar[_For] = ContextVar("kg_calls_for", default=_NOTHING)


@contextmanager
def calls_for(purpose: str | None = None, *, owner: str | None = None) -> Iterator[None]:
    """Calls in this block are for this, and are paid by this owner where no job pays."""
    before = _for.get()
    token = _for.set(_For(purpose or before.purpose, owner or before.owner))
    try:
        yield
    finally:
        _for.reset(token)


class Calls:
    """Of one provider."""

    def __init__(self, work: Lanework, provider: str, ledger: Ledger, limits: Limits | None = None) -> None:
        self.provider, self.limits = provider, limits or Limits()
        self._work, self._ledger = work, ledger
        self._rate = work.rate(provider, requests=self.limits.requests or None, tokens=self.limits.tokens or None)
        self._throttle = Throttle(self._rate)
        self._turns = Turns(work, provider, self.limits.concurrency, self._rate, self.limits.timeout)
        self._accounts: set[asyncio.Task[None]] = set()

    async def load(self) -> None:
        """Before the first one: whoever comes then does not wait for what is made once."""
        with suppress(LaneworkError):  # a database that is away now is asked again by the first call
            await self._rate._begin()

    async def make(self, call: Call[T]) -> tuple[T, Usage]:
        """The answer, and what all tries of it have cost."""
        tries, spent, patience = 0, Usage(), self._patience()
        while True:
            one = _Once(self, call)
            try:
                value = await one.run()
                self._throttle.went_well()
                return value, spent + one.usage
            except ModelThrottled as error:
                if not one.turn.sent or time.monotonic() + (error.retry_after or 0.0) > patience:
                    raise
            except ModelError as error:
                spent += one.usage
                if not error.again or tries >= self.limits.retries:
                    raise
                await asyncio.sleep(self._delay(error, tries))
                tries += 1

    def _patience(self) -> float:
        """A job may wait for as long as it may run; nobody else longer than for an answer."""
        return math.inf if inside.get() is not None else time.monotonic() + self.limits.timeout

    def _delay(self, error: ModelError, tries: int) -> float:
        told: float | None = getattr(error, "retry_after", None)
        return backoff(tries, self.limits.base, cap=LONGEST_WAIT_S) if told is None else told

    async def close(self) -> None:
        """What calls have left to be written."""
        if self._accounts:
            await asyncio.wait(self._accounts)
        await self._ledger.flush()


class _Once(Generic[T]):
    """One try."""

    def __init__(self, calls: Calls, call: Call[T]) -> None:
        self._calls, self._call = calls, call
        self._context = inside.get()
        self._for = _for.get()
        self.turn = Turn(calls._turns, self._tokens(), None if self._context is not None else calls.limits.timeout)
        self.usage = Usage()

    async def run(self) -> T:
        calls, call = self._calls, self._call
        async with self.turn:
            owner = self._context.owner if self._context is not None else self._for.owner
            money = await reserve(calls._work, self._context, calls.provider, call.upto.cost, owner)
            try:
                got = await self._ask()
            except BaseException as error:
                await self.turn.end()
                await self._account(money, error)
                raise
        self.usage = call.price.of(got.tokens_in, got.tokens_out)
        try:
            call.check(got.value)
        except ModelError as error:
            await self._account(money, error)
            raise
        await self._account(money, None)
        return got.value

    async def _ask(self) -> Got[T]:
        calls, turn = self._calls, self.turn
        token = turn_here.set(turn)
        try:
            got = await self._call.ask()
        except Exception as error:
            if turn.problem is not None and not turn.sent:
                raise turn.problem from None
            found = meaning(turn.problem or error, calls.provider, calls._work.secrets.mask)
            if isinstance(found, ModelThrottled):  # before the next one has the permit: it must not call into the pause
                await calls._throttle.refused(found, turn.begun)
            raise found from error
        finally:
            turn_here.reset(token)
        if not turn.sent:
            raise RuntimeError(f"a call of {calls.provider} was made without its turn")
        return got

    def _tokens(self) -> float:
        """A call that is larger than a whole minute's tokens takes all of them."""
        tokens, limit = self._call.upto.tokens_in + self._call.upto.tokens_out, self._calls.limits.tokens
        return float(min(tokens, limit)) if limit else float(tokens)

    # -- afterwards, without the permit

    async def _account(self, money: Spending, error: BaseException | None) -> None:
        """Whatever happens to the caller now, it is written."""
        task = asyncio.ensure_future(self._write(money, error))
        self._calls._accounts.add(task)
        task.add_done_callback(self._calls._accounts.discard)
        await asyncio.shield(task)

    async def _write(self, money: Spending, error: BaseException | None) -> None:
        billed = True if error is None else error.billed if isinstance(error, ModelError) else None
        if billed is None and self.turn.sent:
            self.usage = Usage(self._call.likely_in, 0, self._call.upto.cost)
        if self.turn.sent:
            await asyncio.gather(self._settle(money, billed), self._calls._ledger.write(self._row(error)))
        else:
            await self._settle(money, False)

    async def _settle(self, money: Spending, billed: bool | None) -> None:
        try:
            if billed is None:
                await money.lose()
            elif billed:
                await money.settle(self.usage.cost)
            else:
                await money.release()
        except Exception as problem:  # the engine counts it as spent, whole, when the attempt ends
            logger.warning("what a call of %s has cost could not be settled: %s", self._calls.provider, problem)

    def _row(self, error: BaseException | None) -> CallRow:
        outcome = "ok" if error is None else error.outcome if isinstance(error, ModelError) else "cancelled"
        job = self._context.job_id if self._context is not None else None
        owner = self._context.owner if self._context is not None else self._for.owner
        return CallRow(
            str(uuid4()), job, owner, self._calls.provider, self._call.model, self._for.purpose or self._call.purpose,
            self.usage.tokens_in, self.usage.tokens_out, self.usage.cost, self.turn.seconds, outcome,
        )  # fmt: skip
