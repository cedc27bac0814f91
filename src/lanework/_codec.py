"""The one encoder every value passes on its way to the database: payload, result, checkpoint, progress, log, error.

`encode` gives JSON text that PostgreSQL stores as jsonb, or raises an error that names the field. What JSON does not
know is written as

    date, time, datetime        ISO 8601 text          UUID, Decimal, Path     text
    timedelta                   seconds                Enum                    its value
    dataclass, pydantic model   an object              tuple                   an array

and comes back as what the handler's annotation says; without an annotation it comes back as the JSON that was stored.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from json import encoder as json_encoder
from typing import Any

from lanework._plain import MAX_DEPTH, MAX_DIGITS, Plain, refusal
from lanework.errors import InvalidJob, LaneworkError

PAYLOAD_LIMIT = 256 * 1024
RESULT_LIMIT = 1024 * 1024

_SCALARS = frozenset({str, int, float, bool, type(None)})
_SMALL = 4096
#: What `json.loads` comes to, without its way there: the database writes JSON with no white space around it.
_scan: Any = vars(json.JSONDecoder())["scan_once"]
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def encode(value: Any, *, field: str, limit: int, error: type[LaneworkError] = InvalidJob) -> str:
    """The value as JSON text of at most `limit` bytes that jsonb accepts; raises `error`, naming the place, otherwise.

    An empty `field` says that the value is a mapping of arguments: its top-level keys are then the fields.
    """
    try:
        if _is_plain(value, limit):
            text = "".join(_chunks(value, 0))
            if is_storable(text, limit):
                return text
    except (ValueError, RecursionError):  # NaN, a number of too many digits, a stack that was nearly full
        pass
    # Anything unusual is done again the slow way, which converts and knows where it is.
    plain = Plain(field, limit, error)
    text = "".join(_chunks(plain.convert(value), 0))
    plain.check_size(len(text.encode()))
    return text


def decode(data: str | bytes, *, field: str = "value", error: type[LaneworkError] = InvalidJob) -> Any:
    """Stored JSON as Python. Rows written by plain SQL can hold what `encode` refuses, such as 7,000 levels."""
    try:
        if isinstance(data, str):
            value, end = _scan(data, 0)
            if end == len(data):
                return value
    except (StopIteration, ValueError, RecursionError):
        pass  # white space first, or not JSON: the long way knows
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as problem:
        raise refusal(error, field, f"{field}: the stored JSON cannot be read: {problem}") from None


def clean_text(text: str, limit: int) -> str:
    """Any text made storable in at most `limit` bytes: NUL and lone surrogates escaped; a cut is marked."""
    if text.isascii() and "\0" not in text and len(text) <= limit:
        return text
    data = text[: limit + 1].replace("\0", "\\x00").encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return data.decode()
    mark = f"… (cut, {len(text):,} characters in all)"
    room = limit - len(mark.encode())
    if room < 0:
        return data[:limit].decode(errors="ignore")
    return data[:room].decode(errors="ignore") + mark


def _make_chunks() -> Callable[[Any, int], Iterable[str]]:
    """json's C encoder, made once: half of what `JSONEncoder.encode` costs is making it anew for every call."""
    try:
        make, escape = vars(json_encoder)["c_make_encoder"], vars(json_encoder)["encode_basestring"]
        fast: Callable[[Any, int], Iterable[str]] = make(None, None, escape, None, ":", ",", False, False, False)
        if "".join(fast({"a": [1, "é", None]}, 0)) == '{"a":[1,"é",null]}':
            return fast
    except (KeyError, TypeError):
        pass
    same = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))
    return lambda value, _: same.iterencode(value)


_chunks = _make_chunks()


def _write_float(value: float) -> str:
    if value - value != 0:
        raise ValueError("JSON has no such number")
    return float.__repr__(value)


#: JSON text of one scalar of exactly that type, or ValueError. The text still has to pass `is_storable`.
WRITERS: dict[type, Callable[[Any], str]] = {
    str: json_encoder.encode_basestring,
    int: int.__repr__,
    float: _write_float,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): {None: "null"}.__getitem__,
}


def _is_plain(value: Any, limit: int) -> bool:
    """Only JSON's own types, text keys, at most MAX_DEPTH levels.

    Looks level by level: depth needs no recursion, and a cycle ends at MAX_DEPTH. An element takes two bytes or more,
    so counting them ends the walk of shared branches that would unfold without bound.
    """
    level = [value]
    room = limit // 2 + 1
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is dict:
                for key in item:
                    if type(key) is not str:
                        return False
                values = item.values()
            elif kind is list or kind is tuple:
                values = item
            else:
                return kind in _SCALARS  # only the value itself can be one; `inner` takes none
            room -= len(item)
            if room < 0:
                return False
            for each in values:
                if type(each) not in _SCALARS:
                    inner.append(each)  # noqa: PERF401 - in 3.11 a comprehension costs a call
        if not inner:
            return True
        level = inner
    return False


def is_storable(text: str, limit: int) -> bool:
    """False for JSON text that is too long, or that PostgreSQL would refuse."""
    if len(text) < _SMALL and text.isascii() and "\\u0000" not in text:
        return len(text) <= limit
    if "\\u0000" in text and _ESCAPED_NUL.search(text):
        return False
    if len(text) > MAX_DIGITS and not 0 < sys.get_int_max_str_digits() <= MAX_DIGITS:
        return False  # may hold a number that Python writes and PostgreSQL refuses
    if text.isascii():
        return len(text) <= limit
    try:
        return len(text.encode()) <= limit
    except UnicodeEncodeError:  # a lone surrogate
        return False
