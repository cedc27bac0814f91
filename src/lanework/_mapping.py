"""`ctx.map`: a step per item, a bounded number at a time; one bad item does not stop the others."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from lanework._steps import check_name, from_text, item_key, to_text
from lanework.errors import ClaimLost, ConfigError
from lanework.outcomes import ItemError
from lanework.retries import PARKED_CLASSES, classify, describe

if TYPE_CHECKING:
    from lanework.context import Context

R = TypeVar("R")
MOST_AT_ONCE = 1000


class Mapped(list[R]):
    """The results of the items that succeeded, in the order of the items; `errors` has one entry for each that did not."""

    def __init__(self, results: Iterable[R], errors: Sequence[ItemError]) -> None:
        super().__init__(results)
        self.errors = list(errors)


class Mapping:
    """One call of `map`. What an earlier attempt has stored is not run again."""

    def __init__(self, context: Context, name: str, items: Iterable[Any], fn: Callable[[Any], Any], concurrency: int) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or not 1 <= concurrency <= MOST_AT_ONCE:
            raise ConfigError(f"concurrency: expected 1 to {MOST_AT_ONCE}, got {concurrency!r}")
        self._context, self._name, self._fn, self._concurrency = context, check_name(name), fn, concurrency
        self._items = list(items)
        self._keys = [item_key(name, place, item) for place, item in enumerate(self._items)]
        self._done = 0
        self._results: dict[int, Any] = {}
        self._errors: dict[int, ItemError] = {}
        self._waits_for: Exception | None = None

    def run(self) -> Mapped[Any]:
        stored = self._context._link.ask("get_items", {"prefix": f"{self._name}["}) if self._context._past else {}
        steps = self._context._steps
        todo = self._without({key: steps._text(stored[key]) for key in self._keys if key in stored})
        if todo:
            with ThreadPoolExecutor(min(self._concurrency, len(todo)), thread_name_prefix=f"lanework-{self._name}") as pool:
                try:
                    for future in [pool.submit(contextvars.copy_context().run, self._one, place) for place in todo]:
                        future.result()
                except BaseException:  # not an item's failure: nothing more may run, or be paid for
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        return self._end()

    async def arun(self) -> Mapped[Any]:
        stored = await self._context._link.aask("get_items", {"prefix": f"{self._name}["}) if self._context._past else {}
        steps = self._context._steps
        todo = iter(self._without({key: await steps._atext(stored[key]) for key in self._keys if key in stored}))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._concurrency, len(self._items))):
                    group.create_task(self._drain(todo))
        except BaseExceptionGroup as errors:  # a lost claim is a lost claim, here as in the sync twin
            raise errors.exceptions[0] from None
        return self._end()

    async def _drain(self, todo: Any) -> None:
        for place in todo:
            await self._aone(place)

    def _without(self, stored: dict[str, str]) -> list[int]:
        for place, key in enumerate(self._keys):
            if key in stored:
                self._results[place] = from_text(stored[key], self._fn)
                self._done += 1
        return [place for place in range(len(self._items)) if place not in self._results]

    def _one(self, place: int) -> None:
        if self._over():
            return
        try:
            text = to_text(self._keys[place], self._fn(self._items[place]))
        except Exception as error:
            self._failed(place, error)
            return
        self._context._steps.save(self._keys[place], text)
        self._succeeded(place, text)

    async def _aone(self, place: int) -> None:
        if self._over():
            return
        try:
            value = self._fn(self._items[place])
            text = to_text(self._keys[place], await value if inspect.isawaitable(value) else value)
        except Exception as error:
            self._failed(place, error)
            return
        await self._context._steps.asave(self._keys[place], text)
        self._succeeded(place, text)

    def _over(self) -> bool:
        """Between items is where a map can be stopped: what is stored stays."""
        self._context.raise_if_cancelled()
        return self._waits_for is not None

    def _succeeded(self, place: int, text: str) -> None:
        self._results[place] = from_text(text, self._fn)
        self._report()

    def _failed(self, place: int, error: Exception) -> None:
        if isinstance(error, ClaimLost):
            raise error
        if classify(error) in PARKED_CLASSES:  # no fault of the item: the job waits, and those that are under way are kept
            self._waits_for = self._waits_for or error
            return
        told = describe(error)
        self._errors[place] = ItemError(
            f"{self._name}[{place}]", told["error"], classify(error), told["error_code"], told["traceback"]
        )
        self._report()

    def _report(self) -> None:
        self._done += 1
        self._context.progress(self._done / len(self._items), f"{self._name}: {self._done} of {len(self._items)}")

    def _end(self) -> Mapped[Any]:
        if self._waits_for is not None:
            raise self._waits_for
        errors = [self._errors[place] for place in sorted(self._errors)]
        if errors:
            failed = [asdict(error) for error in errors]
            self._context._failed_items.extend(failed)  # for a `tx.finish` here
            self._context._link.tell("item_errors", {"errors": failed})
        return Mapped([self._results[place] for place in sorted(self._results)], errors)
