"""Stored steps: a result is kept under the job's fence and never computed, or paid for, again."""

from __future__ import annotations

import hashlib
import inspect
import typing
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanework._annotations import Shape, shape_of
from lanework._codec import RESULT_LIMIT, decode, encode
from lanework.errors import ClaimLost, ConfigError, InvalidResult

if TYPE_CHECKING:
    from lanework.context import Context

#: A result over RESULT_LIMIT becomes a blob; this is the end.
BLOB_LIMIT = 256 * 1024 * 1024
MOST_KEY = 200


def check_name(name: str) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= MOST_KEY or any(c == "\0" or "\ud800" <= c <= "\udfff" for c in name):
        raise InvalidResult(f"step: expected a name of 1 to {MOST_KEY} characters, got {name!r}")
    return name


def item_key(name: str, position: int, value: Any) -> str:
    """An item of a map is known by its position and its value: another value is another item."""
    text = encode(value, field=f"{name}[{position}]", limit=BLOB_LIMIT, error=InvalidResult)
    return f"{name}[{position}:{hashlib.sha256(text.encode()).hexdigest()[:16]}]"


def to_text(key: str, value: Any) -> str:
    return encode(value, field=f"step {key!r}", limit=BLOB_LIMIT, error=InvalidResult)


def from_text(text: str, fn: Callable[..., Any]) -> Any:
    """The stored result, as what the function says it returns: the same on the first run and on every later one."""
    value = decode(text)
    shape = _returned(fn)
    return value if shape is None or type(value) in shape.as_is else shape.load(value)


@lru_cache(maxsize=1000)
def _shape_of_return(fn: Callable[..., Any]) -> Shape | None:
    try:
        hints = typing.get_type_hints(fn)
        return shape_of(hints["return"]) if "return" in hints else None
    except Exception:  # an annotation that cannot be resolved leaves plain JSON
        return None


def _returned(fn: Callable[..., Any]) -> Shape | None:
    target = inspect.unwrap(getattr(fn, "func", fn))
    try:
        return _shape_of_return(target)
    except TypeError:  # not hashable
        return None


class Steps:
    """The steps of one attempt, sync and async alike."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: set[str] = set()

    def take(self, name: str) -> str:
        """One name, one step: a second use of it would be paid for, and then not kept."""
        key = check_name(name)
        if key in self._seen:
            raise ConfigError(f"step {name!r} is used twice in this attempt; give each step a name of its own, or use ctx.map")
        self._seen.add(key)
        return key

    def run(self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: str | None = None) -> Any:
        key = key or self.take(name)
        link = self._context._link
        if self._context._past:
            stored = link.ask("get_step", {"key": key})
            if stored is not None:
                return from_text(self._text(stored), fn)
        text = to_text(key, fn(*args, **kwargs))
        self.save(key, text)
        return from_text(text, fn)

    async def arun(
        self, name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], key: str | None = None
    ) -> Any:
        key = key or self.take(name)
        link = self._context._link
        if self._context._past:
            stored = await link.aask("get_step", {"key": key})
            if stored is not None:
                return from_text(await self._atext(stored), fn)
        value = fn(*args, **kwargs)
        text = to_text(key, await value if inspect.isawaitable(value) else value)
        await self.asave(key, text)
        return from_text(text, fn)

    def save(self, key: str, text: str) -> None:
        self._context._check_lost()
        if len(text) > RESULT_LIMIT // 2 and len(text.encode()) > RESULT_LIMIT:
            self._context._link.ask("save_step", {"key": key, "blob": self._context.put_blob(text.encode())})
        else:
            self._context._link.ask("save_step", {"key": key, "text": text})

    async def asave(self, key: str, text: str) -> None:
        self._context._check_lost()
        if len(text) > RESULT_LIMIT // 2 and len(text.encode()) > RESULT_LIMIT:
            await self._context._link.aask("save_step", {"key": key, "blob": await self._context.aput_blob(text.encode())})
        else:
            await self._context._link.aask("save_step", {"key": key, "text": text})

    def _text(self, stored: dict[str, Any]) -> str:
        return stored["text"] if stored["blob"] is None else self._context.get_blob(stored["blob"]).decode()

    async def _atext(self, stored: dict[str, Any]) -> str:
        return stored["text"] if stored["blob"] is None else (await self._context.aget_blob(stored["blob"])).decode()


def refused(context: Context, what: str) -> ClaimLost:
    return ClaimLost(f"job {context.job_id}: attempt {context.attempt} was superseded; {what} was refused")
