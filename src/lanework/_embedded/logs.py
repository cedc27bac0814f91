"""The server's logs: whether they move, what they said last, and that they do not pile up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from lanework._embedded.home import Home
from lanework.errors import EmbeddedError

_KEEP_SECONDS = 6 * 86400  # a weekday's file is begun anew after a week, but only by a server that runs then
_KEEP_BYTES = 10_000_000


class Patience:
    """Waits as long as the log moves. Recovery after a crash may take minutes, and says so every two seconds."""

    def __init__(self, home: Home, *, quiet: float, step: float = 0.02) -> None:
        self._home, self._quiet, self._step = home, quiet, step
        self._seen = self._mark()
        self._since = time.monotonic()

    def wait(self, what: str) -> None:
        """One short pause. Raises when nothing has moved for too long."""
        time.sleep(self._step)
        mark, now = self._mark(), time.monotonic()
        if mark != self._seen:
            self._seen, self._since = mark, now
        elif now - self._since > self._quiet:
            problem = f"waited {self._quiet:g} s for {what}, and the server's log did not move"
            raise EmbeddedError(f"{problem}. Look there, or wait longer with start_timeout.{ending(self._home)}")

    def _mark(self) -> list[tuple[Path, int]]:
        return [(path, size) for path, size, _ in _files(self._home)]


def ending(home: Home, lines: int = 12) -> str:
    """The end of what the server said, as the tail of a message."""
    newest = sorted(_files(home), key=lambda file: file[2])[-2:]
    said = [line for path, _, _ in newest for line in _last_lines(path, lines)]
    return "\n".join(["", f"The last lines of its logs in {home.root}:", *said[-lines:]]) if said else ""


def tidy(home: Home) -> None:
    for path, size, changed in list(_files(home)):
        if path != home.start_log and (time.time() - changed > _KEEP_SECONDS or size > _KEEP_BYTES):
            path.unlink(missing_ok=True)


def _files(home: Home) -> Iterator[tuple[Path, int, float]]:
    for path in (home.start_log, *sorted(home.log.glob("*.log"))):
        try:
            found = path.stat()
        except FileNotFoundError:
            continue
        yield path, found.st_size, found.st_mtime


def _last_lines(path: Path, lines: int) -> list[str]:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 200 * lines))
        return file.read().decode("utf-8", "replace").splitlines()[-lines:]
