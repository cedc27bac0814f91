"""What a body gave, as JSON: a value, an outcome, an error. Works for every dataclass in `lanework.outcomes`."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta
from typing import Any

from lanework import outcomes
from lanework._child.wire import Raw, pack
from lanework._codec import RESULT_LIMIT, encode
from lanework._pools.remote import RemoteError, describe
from lanework.errors import InvalidResult


def give(value: Any) -> Raw:
    """A value or an outcome; raises `InvalidResult` for what cannot be stored."""
    if not _is_outcome(value):
        return _tagged("json", Raw(encode(value, field="result", limit=RESULT_LIMIT, error=InvalidResult)))
    members = {each.name: _member(each.name, getattr(value, each.name)) for each in fields(value)}
    return _tagged("outcome", type(value).__name__, _object(members))


def give_error(error: BaseException, *, skip: int) -> Raw:
    return _tagged("error", describe(error, skip=skip))


def take(answer: list[Any]) -> Any:
    """The value; raises `RemoteError` if the body raised."""
    match answer:
        case ["json", value]:
            return value
        case ["outcome", name, members]:
            return getattr(outcomes, name)(**{key: _open(member) for key, member in members.items()})
        case ["error", told]:
            raise RemoteError.from_json(told)
    raise ValueError(f"not an answer: {answer!r}")


def _is_outcome(value: Any) -> bool:
    kind = type(value)
    return kind.__module__ == outcomes.__name__ and is_dataclass(kind)


def _member(name: str, value: Any) -> Raw:
    if _is_outcome(value):
        return give(value)
    if isinstance(value, BaseException):
        return give_error(value, skip=0)
    if isinstance(value, timedelta):
        return _tagged("timedelta", value.total_seconds())
    if isinstance(value, datetime):
        return _tagged("datetime", value.isoformat())
    if isinstance(value, (list, tuple)) and any(isinstance(item, BaseException) or _is_outcome(item) for item in value):
        return _tagged("list", Raw(f"[{','.join(_member(name, item) for item in value)}]"))
    return _tagged("json", Raw(encode(value, field=name, limit=RESULT_LIMIT, error=InvalidResult)))


def _open(member: list[Any]) -> Any:
    match member:
        case ["timedelta", seconds]:
            return timedelta(seconds=seconds)
        case ["datetime", text]:
            return datetime.fromisoformat(text)
        case ["error", told]:
            return RemoteError.from_json(told)
        case ["list", items]:
            return [_open(item) for item in items]
    return take(member)


def _tagged(*parts: Any) -> Raw:
    return Raw(pack(*parts)[:-1].decode())


def _object(members: dict[str, Raw]) -> Raw:
    return Raw("{" + ",".join(f'"{name}":{text}' for name, text in members.items()) + "}")
