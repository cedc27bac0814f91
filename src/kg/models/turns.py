"""A call's turn at its provider: a permit and a part of the rate, from when its request is ready until its answer is here.

A client takes a millisecond or two to make a request of a question and as long to read the answer. Neither costs the provider
anything, so neither has the permit: the turn begins and ends in `gated`, around what goes over the wire.
"""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from typing import Any

from kg.errors import ModelThrottled
from kg.loops import PerLoop
from lanework import Lanework
from lanework.errors import PermitBusy
from lanework.permits import Permit
from lanework.rates import Rate

#: A wait for a permit is looked at so often; in a job it then goes on.
LOOK_S = 300.0


class Turns:
    """Of one provider."""

    def __init__(self, work: Lanework, provider: str, concurrency: int, rate: Rate, timeout: float) -> None:
        self.work, self.provider, self.concurrency, self.rate, self.timeout = work, provider, concurrency, rate, timeout
        # who waits for a permit with money reserved: enough that the next ones are ready when permits come free, and no more
        self.door = PerLoop(lambda: asyncio.Semaphore(max(4, concurrency)))


class Turn:
    """`async with` is for the place at the door, where money is reserved and the request is made. What is held when it ends is
    given back. `wait`: at most so many seconds for permit and rate; None: for as long as the job may run."""

    def __init__(self, turns: Turns, tokens: float, wait: float | None) -> None:
        self._turns, self._tokens, self._wait = turns, tokens, wait
        self._door: asyncio.Semaphore | None = None
        self._permit: Permit | None = None
        self.begun = time.monotonic()
        self.seconds = 0.0
        self.sent = False
        self.problem: Exception | None = None
        """What went wrong here, as it is: clients wrap what they do not know."""

    async def __aenter__(self) -> Turn:
        door = self._turns.door.get()
        await door.acquire()
        self._door = door
        return self

    async def __aexit__(self, *_: object) -> None:
        self._leave_door()
        await self.end()

    async def send(self, client: Any, request: Any, options: dict[str, Any]) -> Any:
        """The answer, read whole. After anything but a success the turn goes on: whoever is next must not call into a pause."""
        try:
            await self._begin()
            async with asyncio.timeout(self._turns.timeout):
                response = await client(request, **options)
        except Exception as error:
            if isinstance(error, TimeoutError) or not self.sent:
                self.problem = error
            raise
        if response.is_success:
            await self.end()
        return response

    async def end(self) -> None:
        permit, self._permit = self._permit, None
        if permit is not None:
            self.seconds = time.monotonic() - self.begun
            await permit.__aexit__(None, None, None)

    async def _begin(self) -> None:
        turns = self._turns
        try:
            self._permit = await self._permitted()
        finally:
            self._leave_door()
        try:
            await turns.rate.atake(self._tokens, wait=self._wait)
        except PermitBusy as error:
            raise ModelThrottled(f"{turns.provider} is called as often as it may be: {error}", retry_after=1.0) from error
        self.begun, self.sent = time.monotonic(), True

    async def _permitted(self) -> Permit:
        turns, wait = self._turns, self._wait
        permit = turns.work.permit(turns.provider, capacity=turns.concurrency, wait=LOOK_S if wait is None else wait)
        while True:
            try:
                await permit.__aenter__()
                return permit
            except PermitBusy as error:
                if wait is not None:
                    raise ModelThrottled(f"all calls of {turns.provider} are taken: {error}", retry_after=1.0) from error

    def _leave_door(self) -> None:
        if self._door is not None:
            self._door.release()
            self._door = None


#: Of the call that is being made here.
turn_here: ContextVar[Turn | None] = ContextVar("kg_turn", default=None)


def gated(kind: Any) -> Any:
    """An HTTP client of this kind that sends each request in its call's turn."""

    class Gated(kind):  # type: ignore[misc]  # the kind is the SDK's choice
        async def send(self, request: Any, **options: Any) -> Any:
            turn = turn_here.get()
            if turn is None:
                raise RuntimeError("a request to a model's provider outside of a call: it has no permit, and nobody pays for it")
            return await turn.send(super().send, request, options)

    return Gated
