"""A job's output in its own log: what it prints, and what it logs.

In a shared process (async, thread) the current job is a context variable: `sys.stdout` and `sys.stderr` route by it and
pass everything else through. In a child process every byte of file descriptors 1 and 2 belongs to its job; the worker
reads them (`lanework._child.output`), so that the last words of a process that crashes are kept.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable
from contextvars import ContextVar, Token
from threading import Lock, RLock
from types import TracebackType
from typing import Any, Protocol

LINE_LIMIT = 8 * 1024  # characters of one line
LINES_LIMIT = 10_000  # lines of one attempt

_MARK = "… (cut)"


class Teller(Protocol):
    def tell(self, op: str, data: dict[str, Any]) -> None: ...


class Sink:
    """Where one attempt's output goes: whole lines, in order, bounded. May be used from any thread."""

    __slots__ = ("_left", "_lock", "_partial", "_telling", "_to")

    def __init__(self, to: Teller, *, lines: int = LINES_LIMIT) -> None:
        self._to = to
        self._left = lines
        self._lock = RLock()
        self._partial: dict[str, str] = {}
        self._telling = False

    def write(self, stream: str, text: str) -> None:
        """Text as it comes; the last line waits for its end."""
        with self._lock:
            whole, newline, rest = (self._partial.pop(stream, "") + text).rpartition("\n")
            if rest:
                self._partial[stream] = _shorten(rest)
            if newline:
                self._tell(stream, whole)

    def entry(self, stream: str, text: str) -> None:
        """One entry that is already whole."""
        with self._lock:
            self._tell(stream, text)

    def flush(self) -> None:
        """Tells what has no line end yet: nothing may be left for the next job."""
        if self._partial:
            with self._lock:
                partial, self._partial = self._partial, {}
                for stream, text in partial.items():
                    self._tell(stream, text)

    def _tell(self, stream: str, text: str) -> None:
        # A link that logs would come back here through the logging handler.
        if self._telling or self._left <= 0:
            return
        lines = text.split("\n")
        kept = lines[: self._left]
        self._left -= len(kept)
        self._send(stream, "\n".join(map(_cut, kept)))
        if self._left <= 0:
            self._send(stream, f"… more than {LINES_LIMIT:,} lines: the rest is dropped")

    def _send(self, stream: str, text: str) -> None:
        self._telling = True
        try:
            self._to.tell("log", {"stream": stream, "text": text})
        finally:
            self._telling = False


def _shorten(rest: str) -> str:
    """An unfinished line, bounded: progress bars rewrite theirs with a carriage return for hours."""
    rewritten = rest.rfind("\r", 0, len(rest) - 1)
    return rest[rewritten + 1 :][: LINE_LIMIT + 1]


def _cut(line: str) -> str:
    shown = line.rstrip("\r").rpartition("\r")[2] if "\r" in line else line
    return shown if len(shown) <= LINE_LIMIT else shown[:LINE_LIMIT] + _MARK


current: ContextVar[Sink | None] = ContextVar("lanework_sink", default=None)


class captured:
    """What this context prints and logs goes to `to`. A class, because it is on the path of every job."""

    __slots__ = ("_sink", "_token")

    def __init__(self, to: Teller) -> None:
        self._sink = Sink(to)

    def __enter__(self) -> Sink:
        # Somebody may have replaced a stream since the last job; pytest does so for every phase of a test.
        if _installation.users and not (type(sys.stdout) is type(sys.stderr) is RoutedStream):
            _installation.wrap()
        self._token: Token[Sink | None] = current.set(self._sink)
        return self._sink

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        current.reset(self._token)
        self._sink.flush()


class RoutedStream:
    """`sys.stdout` or `sys.stderr`: the current job's, or what was there before."""

    def __init__(self, name: str, under: Any) -> None:
        self._name = name
        self.under = under

    def write(self, text: str) -> int:
        sink = current.get()
        if sink is not None:
            sink.write(self._name, text)
        elif self.under is not None:
            self.under.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self.under is not None:
            self.under.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.under, name)


class JobLogHandler(logging.Handler):
    """Records of the current job go to its log, under the name of their level."""

    def __init__(self, find: Callable[[], Sink | None]) -> None:
        super().__init__()
        self._find = find
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        sink = self._find()
        if sink is None:
            return
        try:
            sink.entry(record.levelname.lower(), self.format(record))
        except Exception:
            self.handleError(record)


class _Installation:
    """Several workers in one process share it; the last one takes it away."""

    def __init__(self) -> None:
        self.users = 0
        self._lock = Lock()
        self._handler = JobLogHandler(current.get)

    def install(self) -> None:
        with self._lock:
            self.users += 1
            if self.users == 1:
                logging.getLogger().addHandler(self._handler)
        self.wrap()

    def uninstall(self) -> None:
        with self._lock:
            self.users -= 1
            if self.users == 0:
                logging.getLogger().removeHandler(self._handler)
                self._unwrap()

    def wrap(self) -> None:
        with self._lock:
            for name in ("stdout", "stderr"):
                stream = getattr(sys, name)
                if not isinstance(stream, RoutedStream):
                    setattr(sys, name, RoutedStream(name, stream))

    def _unwrap(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if isinstance(stream, RoutedStream):
                setattr(sys, name, stream.under)


_installation = _Installation()
install = _installation.install
uninstall = _installation.uninstall
