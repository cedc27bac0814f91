"""Many things are sent: a few at a time, in any order, with a row that says how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from kg.cli.bars import Bars
from kg.cli.things import Thing
from kg.errors import KgError, NotAuthenticated, ServerAway
from lanework._words import count
from lanework.cli.text import redact
from lanework.errors import ConfigError

#: Their round trips overlap, and nobody else is kept waiting.
_AT_ONCE = 4
_PAUSE = 0.1
Sent = tuple[Thing, dict[str, Any]]


class Sending:
    """`code` is 1 when something was refused. If there is but one thing, its refusal is raised."""

    def __init__(self, things: Sequence[Thing], fields: Mapping[str, Any], bars: Bars) -> None:
        self.things, self.bars = things, bars
        self.code = 0
        self._fields = fields
        self._answered = 0

    def all(self, look: Callable[[str], None] | None = None) -> Iterator[Sent]:
        """What was taken. `look` is called now and then, with the row that is to be drawn."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                for some in self._rounds(pool, look or self._draw):
                    yield from some
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self.bars.draw(())

    def in_order(self) -> list[Sent]:
        """As they were named."""
        places = {thing: place for place, thing in enumerate(self.things)}
        return sorted(self.all(), key=lambda one: places[one[0]])

    def _rounds(self, pool: ThreadPoolExecutor, look: Callable[[str], None]) -> Iterator[list[Sent]]:
        left = {pool.submit(thing.send, self._fields): thing for thing in self.things}
        while left:
            done, _ = wait(left, _PAUSE, "FIRST_COMPLETED")
            sent = [(thing := left.pop(future), self._answer(thing, future.result)) for future in done]
            yield [(thing, answer) for thing, answer in sent if answer is not None]
            if len(self.things) > 1:
                look(f"sent {self._answered:,} of {count(len(self.things), 'document')} …" if left else "")

    def _answer(self, thing: Thing, result: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        self._answered += 1
        try:
            return result()
        except (ServerAway, NotAuthenticated):
            raise
        except (KgError, ConfigError) as error:
            if len(self.things) == 1:
                raise type(error)(_about(thing, error)) from None
            self.code = 1
            self.bars.say(redact(_about(thing, error)))
            return None

    def _draw(self, row: str) -> None:
        self.bars.draw([row] if row else [])


def _about(thing: Thing, error: Exception) -> str:
    """Many errors begin with the name themselves."""
    told = str(error)
    return told if told.startswith(repr(thing.name)) else f"{thing.name}: {told}"
