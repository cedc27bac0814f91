"""One `kg up` for a data folder: a second one would take the first one's token and note away."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from kg.cli.note import read_note
from lanework.embedded import default_folder
from lanework.errors import ConfigError


def must_be_free() -> None:
    """Before anything is made: a new folder stays empty."""
    if _file().exists():
        with alone():
            pass


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Held as long as this process lives, however it ends; those that it starts do not inherit it."""
    with _file().open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            where = f", at {read_note()['url']}" if "url" in read_note() else ""
            raise ConfigError(
                f"`kg up` is running on {default_folder()} already{where}; end that one, choose another folder with LANEWORK_DATA, "
                "or add workers and HTTP with `kg work` and `kg serve`"
            ) from None
        yield


def _file() -> Path:
    return default_folder() / "up.lock"
