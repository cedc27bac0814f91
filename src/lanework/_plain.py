"""Values rebuilt from JSON's own types: the slow half of the encoder, which knows the path of what it refuses."""

from __future__ import annotations

import math
import os
import re
import reprlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, cast
from uuid import UUID

from lanework.errors import InvalidJob, LaneworkError

#: Far under what json (about 1,000, less on a used stack) and PostgreSQL (about 7,000) read back.
MAX_DEPTH = 100

#: PostgreSQL's numeric ends here, before the point. Python itself stops at 4,300 digits unless told otherwise.
MAX_DIGITS = 131_072
_MAX_BITS = int(MAX_DIGITS * math.log2(10))

_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_]\w*")
_BYTES_HINT = "give base64 text, or a reference to where the bytes are"
_HINTS: dict[type, str] = {set: "use a list", frozenset: "use a list", bytes: _BYTES_HINT, bytearray: _BYTES_HINT}

Path = tuple[str | int, ...]


class Plain:
    """One conversion. `field` names the value; if it is empty, the top-level keys are the fields."""

    def __init__(self, field: str, limit: int, error: type[LaneworkError]) -> None:
        self._field = field
        self._limit = limit
        self._error = error
        self._room = limit // 2 + 1  # an element takes two bytes or more
        self._open: set[int] = set()

    def convert(self, value: Any) -> Any:
        try:
            return self._any(value, ())
        except RecursionError:
            raise self._refused((), "is nested too deep for what is left of the stack: make it flatter") from None

    def check_size(self, size: int) -> None:
        if size > self._limit:
            raise self._too_large(f"is {size:,} bytes")

    def _any(self, value: Any, path: Path) -> Any:  # noqa: PLR0911 - one line per kind
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Enum):
            return self._any(value.value, path)
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, (int, float)):
            return self._number(value, path)
        if isinstance(value, Mapping):
            return self._object(value, value, path)
        if isinstance(value, (list, tuple)):
            return self._array(value, path)
        return self._known(value, path)

    def _text(self, value: str, path: Path) -> str:
        if "\0" in value:
            at = value.index("\0")
            raise self._refused(path, f"has a NUL character at position {at}, which PostgreSQL cannot store: remove it")
        if not value.isascii() and (found := _SURROGATE.search(value)):
            code = ascii(found[0])[1:-1]
            raise self._refused(path, f"has a lone surrogate ({code}) at position {found.start()}: it is not valid Unicode")
        return str.__str__(value)

    def _number(self, value: int | float, path: Path) -> int | float:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise self._refused(path, f"is {float(value)}, which JSON cannot hold: use None, or text")
            return float(value)
        try:
            int.__repr__(value)
        except ValueError:
            limit = sys.get_int_max_str_digits()
            raise self._refused(path, f"has more than {limit:,} digits: give it as text") from None
        if value.bit_length() > _MAX_BITS:
            raise self._refused(path, f"has more than {MAX_DIGITS:,} digits, which PostgreSQL cannot store: give it as text")
        return int(value)

    def _object(self, value: Mapping[Any, Any], origin: Any, path: Path) -> dict[str, Any]:
        with self._inside(origin, len(value), path):
            return {self._key(key, path): self._any(item, (*path, str(key))) for key, item in value.items()}

    def _array(self, value: list[Any] | tuple[Any, ...], path: Path) -> list[Any]:
        with self._inside(value, len(value), path):
            return [self._any(item, (*path, index)) for index, item in enumerate(value)]

    def _key(self, key: Any, path: Path) -> str:
        if not isinstance(key, str):
            raise self._refused(path, f"has the key {show(key)} ({type_name(type(key))}): keys are text in JSON, use str(key)")
        return self._text(key.value if isinstance(key, Enum) else key, (*path, key))

    def _known(self, value: Any, path: Path) -> Any:
        """The kinds that have a form in JSON; the table is in `_codec`."""
        if isinstance(value, (datetime, date, time)):
            return value.isoformat()
        if isinstance(value, timedelta):
            return value.total_seconds()
        if isinstance(value, (UUID, Decimal)):
            return str(value)
        if isinstance(value, os.PathLike) and isinstance(text := os.fspath(value), str):
            return self._text(text, path)
        return self._object(self._parts(value, path), value, path)

    def _parts(self, value: Any, path: Path) -> Mapping[str, Any]:
        if is_model(type(value)):
            try:
                return cast("Mapping[str, Any]", value.model_dump(mode="json", round_trip=True))
            except ValueError as problem:
                raise self._refused(path, f"cannot be written as JSON by pydantic: {problem}") from None
        if is_dataclass(value) and not isinstance(value, type):
            return {each.name: getattr(value, each.name) for each in fields(value)}
        hint = _HINTS.get(type(value), "give numbers, text, lists, dicts, dataclasses or pydantic models")
        raise self._refused(path, f"is a {type_name(type(value))}, which cannot be stored as JSON: {hint}")

    @contextmanager
    def _inside(self, container: Any, size: int, path: Path) -> Iterator[None]:
        if id(container) in self._open:
            raise self._refused(path, "contains itself: JSON is a tree")
        if len(path) >= MAX_DEPTH:
            raise self._refused(path, f"is nested deeper than {MAX_DEPTH} levels: make it flatter")
        self._room -= size
        if self._room < 0:
            raise self._too_large(f"has more than {self._limit // 2:,} elements")
        self._open.add(id(container))
        yield
        self._open.discard(id(container))

    def _too_large(self, what: str) -> LaneworkError:
        return self._refused((), f"{what}, the limit is {self._limit:,} bytes: store it elsewhere and give a reference")

    def _refused(self, path: Path, problem: str) -> LaneworkError:
        at = (self._field, *path) if self._field else path or ("payload",)
        return refusal(self._error, str(at[0]), f"{dotted(at)} {problem}")


def refusal(kind: type[LaneworkError], field: str, message: str) -> LaneworkError:
    return kind(message, field=field) if issubclass(kind, InvalidJob) else kind(message)


def is_model(kind: Any) -> bool:
    """True for a pydantic model class. pydantic is never imported for this: where a model exists, it already is."""
    pydantic = cast("Any", sys.modules.get("pydantic"))
    return pydantic is not None and isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


def dotted(path: Path) -> str:
    """`items[3].name`; keys that are no names are quoted; a long path is shown by its beginning."""
    text = "".join(_segment(part) for part in path[:8]).removeprefix(".")
    return f"{text}…" if len(path) > 8 else text


def _segment(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    return f".{part}" if _NAME.fullmatch(part) else f"[{show(part)}]"


def show(value: Any) -> str:
    """A short repr for messages: bounded work, and never raises."""
    try:
        return _SHORT.repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlevel = 2


def type_name(kind: type) -> str:
    own = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if own else f"{kind.__module__}.{kind.__qualname__}"
