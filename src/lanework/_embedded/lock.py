"""A lock that the kernel releases when its holder dies, however it dies."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Self
from weakref import WeakSet

_open: WeakSet[FileLock] = WeakSet()


class FileLock:
    """`flock` on a file. Each object opens the file itself, so two objects in one process exclude each other too.

    The descriptor is closed on exec, and in a forked child by a hook: a child never keeps its parent's lock alive.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        _open.add(self)

    def share(self) -> bool:
        """Take the lock together with others. False: somebody has it for himself."""
        return self._take(fcntl.LOCK_SH)

    def own(self) -> bool:
        """Take the lock for oneself. False: somebody else has it."""
        return self._take(fcntl.LOCK_EX)

    def unlock(self) -> None:
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Unlock and close."""
        self.unlock()
        self.forget()

    def forget(self) -> None:
        """Close without unlocking: whoever inherited the descriptor goes on holding the lock."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def fileno(self) -> int:
        return self._fd

    def _take(self, mode: int) -> bool:
        try:
            fcntl.flock(self._fd, mode | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
                return False
            raise
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_free(path: Path) -> bool:
    """Whether nobody holds the lock at this moment."""
    with FileLock(path) as lock:
        return lock.own()


def _forget_all() -> None:
    for lock in list(_open):
        lock.forget()


os.register_at_fork(after_in_child=_forget_all)
