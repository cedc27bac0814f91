"""An error of a body that ran somewhere else, told by names and text. Nothing is ever unpickled."""

from __future__ import annotations

import traceback
from types import TracebackType
from typing import Any

from lanework._codec import clean_text
from lanework._loading import MAIN

MESSAGE_LIMIT = 8 * 1024
TRACEBACK_LIMIT = 64 * 1024

_ATTRIBUTES = ("status_code", "retry_after", "code")


class RemoteError(Exception):
    """What a body raised in a child process, or what must not be raised as itself in a worker (`SystemExit`).

    `types` are the qualified names of its classes, the most exact one first, so that it can be classified by type.
    """

    def __init__(
        self, message: str, *, types: tuple[str, ...], traceback: str = "", attributes: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.types = types
        self.traceback = traceback
        self.attributes = attributes or {}
        self.status_code: Any = self.attributes.get("status_code")
        self.retry_after: Any = self.attributes.get("retry_after")
        self.code: Any = self.attributes.get("code")

    @classmethod
    def of(cls, error: BaseException, *, skip: int = 0) -> RemoteError:
        return cls.from_json(describe(error, skip=skip))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RemoteError:
        return cls(data["message"], types=tuple(data["types"]), traceback=data["traceback"], attributes=data["attributes"])

    @property
    def type_name(self) -> str:
        """`ValueError`, `httpx.ReadTimeout`: the exact class, as a person would write it."""
        return self.types[0].removeprefix("builtins.").removeprefix("__main__.")

    def is_a(self, kind: type[BaseException]) -> bool:
        """`isinstance` across processes."""
        return qualified_name(kind) in self.types

    def __repr__(self) -> str:
        return f"<RemoteError {self.type_name}: {self.message!r}>"


def describe(error: BaseException, *, skip: int = 0) -> dict[str, Any]:
    """The error as JSON; `skip` leaves out that many frames of ours. Never raises: the error may be of any making."""
    if isinstance(error, RemoteError):
        return {
            "types": list(error.types),
            "message": error.message,
            "traceback": error.traceback,
            "attributes": error.attributes,
        }
    return {
        "types": [qualified_name(kind) for kind in type(error).__mro__ if kind is not object],
        "message": clean_text(_message(error), MESSAGE_LIMIT),
        "traceback": clean_text(_traceback(error, skip), TRACEBACK_LIMIT),
        "attributes": _attributes(error),
    }


def qualified_name(kind: type) -> str:
    module = "__main__" if kind.__module__ == MAIN else kind.__module__
    return f"{module}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return f"<{type(error).__name__} whose message cannot be made>"


def _traceback(error: BaseException, skip: int) -> str:
    frames: TracebackType | None = error.__traceback__
    for _ in range(skip):
        frames = frames.tb_next if frames is not None and frames.tb_next is not None else frames
    try:
        return "".join(traceback.format_exception(type(error), error, frames))
    except Exception:
        return f"{qualified_name(type(error))}: (its traceback cannot be made)\n"


def _attributes(error: BaseException) -> dict[str, Any]:
    """What classification looks at; clients such as httpx and requests keep the status on the response."""
    found = {name: _simple(error, name) for name in _ATTRIBUTES}
    response = getattr(error, "response", None)
    if found["status_code"] is None and response is not None:
        found["status_code"] = _simple(response, "status_code")
    return {name: value for name, value in found.items() if value is not None}


def _simple(holder: Any, name: str) -> Any:
    try:
        value = getattr(holder, name, None)
    except Exception:
        return None
    return value if type(value) in (int, float) or (type(value) is str and len(value) < 200) else None
