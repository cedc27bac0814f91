"""An error of a body that ran somewhere else, told by names and text. Nothing is ever unpickled."""

from __future__ import annotations

import traceback
from contextlib import suppress
from types import TracebackType
from typing import Any

from lanework._codec import clean_text
from lanework._loading import MAIN
from lanework.errors import LaneworkError

MESSAGE_LIMIT = 8 * 1024
TRACEBACK_LIMIT = 64 * 1024

#: What classification looks at.
_ATTRIBUTES = ("error_class", "status_code", "status", "code", "retry_after", "blocked_on")


class RemoteError(Exception):
    """What a body raised in a child process, or what must not be raised as itself in a worker (`SystemExit`).

    `mro_names` are the qualified names of its classes, the most exact one first, so that it can be classified by type;
    `status_code`, `retry_after` and the like are those of the original.
    """

    status_code: Any = None
    retry_after: Any = None
    code: Any = None

    def __init__(
        self, message: str, *, types: tuple[str, ...], traceback: str = "", attributes: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.remote_message = message
        self.remote_traceback = traceback
        self.mro_names = types
        self.attributes = attributes or {}
        self.__dict__.update(self.attributes)

    @classmethod
    def of(cls, error: BaseException, *, skip: int = 0) -> RemoteError:
        return cls.from_json(describe(error, skip=skip))

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RemoteError:
        return cls(data["message"], types=tuple(data["types"]), traceback=data["traceback"], attributes=data["attributes"])

    @property
    def type_name(self) -> str:
        """`ValueError`, `httpx.ReadTimeout`: the exact class, as a person would write it."""
        return self.mro_names[0].removeprefix("builtins.").removeprefix("__main__.")

    @property
    def remote_code(self) -> str | None:
        """`LW-…` of an error of our own."""
        return str(self.code) if qualified_name(LaneworkError) in self.mro_names else None

    def is_a(self, kind: type[BaseException]) -> bool:
        """`isinstance` across processes."""
        return qualified_name(kind) in self.mro_names

    def __repr__(self) -> str:
        return f"<RemoteError {self.type_name}: {self.remote_message!r}>"


def describe(error: BaseException, *, skip: int = 0) -> dict[str, Any]:
    """The error as JSON; `skip` leaves out that many frames of ours. Never raises: the error may be of any making."""
    if isinstance(error, RemoteError):
        return {
            "types": list(error.mro_names),
            "message": error.remote_message,
            "traceback": error.remote_traceback,
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
    """Clients such as httpx and requests keep the status and the wait on the response."""
    response = getattr(error, "response", None)
    found = {name: _simple(error, name) for name in _ATTRIBUTES}
    for name in ("status_code", "status"):
        found[name] = found[name] if found[name] is not None else _simple(response, name)
    if found["retry_after"] is None:
        with suppress(Exception):
            found["retry_after"] = response.headers.get("retry-after")  # type: ignore[union-attr]
    return {name: value for name, value in found.items() if value is not None}


def _simple(holder: Any, name: str) -> Any:
    try:
        value = getattr(holder, name, None)
    except Exception:
        return None
    return value if type(value) in (int, float) or (type(value) is str and len(value) < 200) else None
