"""File descriptors 1 and 2 of a child: pipes whose other ends the worker reads.

At the end of a job everything is flushed before `done` is sent, and the worker empties the pipes when it sees `done`: no
byte is lost, none is taken for the next job's. A process that the job left behind still holds the pipes; the next job
then gets new ones.
"""

from __future__ import annotations

import ctypes
import faulthandler
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Stdio:
    def __init__(self) -> None:
        self._fflush: Callable[[None], Any] = ctypes.CDLL(None).fflush
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
        faulthandler.enable(2)  # the Python stack of a crash in C is the last thing in the job's log

    def flush(self) -> None:
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            # The job may have closed or replaced them.
            with suppress(Exception):
                stream.flush()  # type: ignore[union-attr]
        self._fflush(None)

    def renew(self) -> tuple[int, int]:
        """New pipes for 1 and 2; the reading ends are for the worker, and to be closed here once they are sent."""
        return _replace(1), _replace(2)


def left_processes() -> bool:
    """Whether this process has children, running or not yet reaped: between jobs only a job can have left them."""
    if not hasattr(os, "waitid"):
        return True
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _replace(fd: int) -> int:
    reading, writing = os.pipe()
    os.dup2(writing, fd)
    os.close(writing)
    return reading
