"""What an error means: its class decides whether, when and at whose expense a job runs again.

transient, timeout, stalled, unknown    again after base × 2ⁿ with jitter, uses a try
throttled                               again when the provider allows, uses no try
budget                                  again when the budget allows, uses no try
worker_lost                             again at once, uses no try
invalid_input, permanent, crash_loop    failed at once
"""

from __future__ import annotations

import logging
import random
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, TypedDict, cast, get_args

from lanework._codec import clean_text
from lanework.errors import LaneworkError, ProcessDied

logger = logging.getLogger("lanework")

ErrorClass = Literal[
    "transient", "throttled", "timeout", "stalled", "worker_lost", "budget", "invalid_input", "permanent", "crash_loop", "unknown"
]
ERROR_CLASSES: tuple[str, ...] = get_args(ErrorClass)

#: Codes of job errors that are no exception of ours; kept in `error_code`.
HANDLER_RAISED, WORKER_LOST, TIMED_OUT, STALLED, HANDLER_FAILED = "LW-420", "LW-403", "LW-404", "LW-405", "LW-421"

FINAL_CLASSES = frozenset({"invalid_input", "permanent", "crash_loop"})
FREE_CLASSES = frozenset({"throttled", "budget", "worker_lost"})
#: Not an error of the job: it waits, and uses no try.
PARKED_CLASSES = frozenset({"throttled", "budget"})
MAX_DELAY = 3600.0
_HERE = str(Path(__file__).parent)
MAX_THROTTLE = 60.0
#: A hundred years. More is a mistake, and out of a timestamp's range.
LONGEST_DELAY = 3_155_760_000.0

_TEXTS = frozenset({"error_class", "error_code", "error", "traceback", "cause", "reason", "on"})


class Classifier(Protocol):
    """Public: says what an exception means, or None to let the next one say."""

    def __call__(self, error: BaseException) -> ErrorClass | None: ...


class Retryable(Exception):
    """Raise it (or a subclass) to say yourself what the class is, and how long to wait."""

    def __init__(self, message: str = "", *, error_class: ErrorClass = "transient", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.error_class = error_class
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `lanework.settle` is told about a run that did not complete."""

    action: Literal["retry", "snooze", "release", "fail", "cancel", "complete", "wait", "park"]
    delay_s: float = 0.0
    uses_try: bool = False
    loss: bool = False
    suspect: bool = False
    error_class: str | None = None
    error_code: str | None = None
    error: str | None = None
    traceback: str | None = None
    cause: str | None = None
    reason: str | None = None
    result: Any = None
    errors: tuple[dict[str, Any], ...] | None = None
    on_failure: str | None = None
    tolerate: int | None = None
    on: str | None = None

    def masked(self, mask: Callable[[str], str]) -> Verdict:
        texts = {name: mask(value) for name in ("error", "traceback", "reason") if isinstance(value := getattr(self, name), str)}
        return replace(self, **texts) if texts else self  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """What the database takes, whatever a handler has put in: one bad value must not stop the verdicts beside it."""
        found = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        for name in _TEXTS & found.keys():
            found[name] = clean_text(_text_of(found[name]), 32_000)
        found["delay_s"] = min(self.delay_s, LONGEST_DELAY) if self.delay_s > 0 else 0.0  # NaN is not above 0
        return found


#: By type first: the names of the classes in an exception's MRO, so that errors from a child process classify alike.
BY_TYPE: dict[str, ErrorClass] = {
    "builtins.TimeoutError": "timeout",
    "builtins.ConnectionError": "transient",
    "builtins.MemoryError": "transient",
    "psycopg.OperationalError": "transient",
    "builtins.TypeError": "unknown",
    "lanework.errors.InvalidJob": "invalid_input",
    "lanework.errors.InvalidResult": "permanent",
}

#: Then by status code, as HTTP clients put it on their exceptions.
BY_STATUS: dict[int, ErrorClass] = {
    408: "timeout", 409: "transient", 425: "transient", 429: "throttled", 529: "throttled",
    500: "transient", 502: "transient", 503: "transient", 504: "timeout",
    400: "invalid_input", 401: "permanent", 403: "permanent", 404: "permanent", 405: "permanent", 410: "permanent",
    413: "invalid_input", 415: "invalid_input", 422: "invalid_input",
}  # fmt: skip


def mro_names(error: BaseException) -> list[str]:
    """Names of the exception's classes, most derived first; an error from a child process brings its own."""
    remote = getattr(error, "mro_names", None)
    if remote:
        return list(remote)
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]


def status_of(error: BaseException) -> int | None:
    for candidate in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(candidate, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return value
    return None


def retry_after_of(error: BaseException) -> float | None:
    value = getattr(error, "retry_after", None)
    if value is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
        value = headers.get("retry-after") if headers is not None and hasattr(headers, "get") else None
    try:
        seconds = float(cast(Any, value))
    except (TypeError, ValueError):
        return None
    return seconds if 0 <= seconds < 86_400 else None


def classify(error: BaseException, classifiers: Iterable[Classifier] = ()) -> ErrorClass:
    """By exception type, then status code, then registered classifiers; never by words in a message."""
    stated = getattr(error, "error_class", None)
    if stated in ERROR_CLASSES:
        return cast(ErrorClass, stated)
    if isinstance(error, ProcessDied):
        return "worker_lost"
    for name in mro_names(error):
        if name in BY_TYPE and BY_TYPE[name] != "unknown":
            return BY_TYPE[name]
    status = status_of(error)
    if status is not None and status in BY_STATUS:
        return BY_STATUS[status]
    for classifier in classifiers:
        if (found := _ask(classifier, error)) is not None:
            return found
    return "unknown"


def _ask(classifier: Classifier, error: BaseException) -> ErrorClass | None:
    """A classifier that fails, or says what is no class, says nothing: it must not leave the job without a verdict."""
    try:
        found = classifier(error)
    except Exception:
        logger.exception("the classifier %r failed; the next one is asked", classifier)
        return None
    if found is not None and found not in ERROR_CLASSES:
        logger.error("the classifier %r answered %r, which is no error class", classifier, found)
        return None
    return found


def backoff(tries_used: int, base: float, *, cap: float = MAX_DELAY, jitter: Callable[[], float] = random.random) -> float:
    """base × 2ⁿ, capped, then spread over the upper half: jobs that failed together do not come back together."""
    delay = min(cap, base * 2.0 ** min(tries_used, 40))
    return delay * (0.5 + 0.5 * jitter())


def judge(error: BaseException, *, tries_used: int, base: float, classifiers: Iterable[Classifier] = ()) -> Verdict:
    """The verdict on a run that raised."""
    kind = classify(error, classifiers)
    told = describe(error)
    if isinstance(error, ProcessDied):
        return Verdict("release", loss=True, error_class=kind, cause=error.cause, **told)
    if kind in FINAL_CLASSES:
        # the delay is for an operator's rule, which may say that it is tried again
        return Verdict("fail", delay_s=backoff(tries_used, base), error_class=kind, **told)
    if kind in PARKED_CLASSES:
        wait = retry_after_of(error)
        delay = wait if wait is not None else backoff(tries_used, base, cap=MAX_THROTTLE)
        if blocked_on := getattr(error, "blocked_on", None):
            return Verdict("park", on=str(blocked_on), delay_s=max(delay, 1.0), error_class=kind, **told)
        return Verdict("snooze", delay_s=max(delay, 0.05), error_class=kind, **told)
    wait = retry_after_of(error)
    delay = wait if wait is not None else backoff(tries_used, base)
    return Verdict("retry", delay_s=delay, uses_try=kind not in FREE_CLASSES, error_class=kind, **told)


def _text_of(value: object) -> str:
    try:
        return str(value)
    except Exception as problem:
        return f"({type(value).__name__} whose text cannot be had: {type(problem).__name__})"


def _own_frames(error: BaseException) -> TracebackType | None:
    """From the handler on: the engine's own frames before it say nothing to whoever reads the traceback."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None and frame.tb_frame.f_code.co_filename.startswith(_HERE):
        frame = frame.tb_next
    return frame


class Told(TypedDict):
    error: str
    error_code: str
    traceback: str


def describe(error: BaseException) -> Told:
    """The error in words that can be stored, whatever it has in it."""
    name = mro_names(error)[0].removeprefix("builtins.")
    text = getattr(error, "remote_message", None) or _text_of(error)
    code = error.code if isinstance(error, LaneworkError) else getattr(error, "remote_code", None) or HANDLER_RAISED
    trace = getattr(error, "remote_traceback", None) or "".join(traceback.format_exception(type(error), error, _own_frames(error)))
    return {
        "error": clean_text(f"{name}: {text}" if text else name, 4000),
        "error_code": clean_text(str(code), 40),
        "traceback": clean_text(trace, 32_000),
    }
