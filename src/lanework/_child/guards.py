"""How a child process sits in its surroundings: it dies with its worker, goes first when memory ends, and no stray
signal stops a job.

SIGINT and SIGTERM have handlers that do nothing, rather than being ignored: an ignored signal stays ignored in every
program that a job starts, a handler does not.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

_PR_SET_PDEATHSIG = 1
_OOM_STEP = 500
_OOM_MAX = 1000
_AUTOGROUP = Path("/proc/self/autogroup")
_AUTOGROUP_TRIES = 20
_AUTOGROUP_PAUSE = 0.05

Handler = Callable[[int, FrameType | None], None]


def settle() -> None:
    """Before anything else: from here on the death of the thread that started us is ours."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _go_first()
    take_signals(_nothing)
    os.register_at_fork(after_in_child=_release_signals)


def give_way(nice: int) -> None:
    """What waits for a person or a heartbeat goes before a job that burns a core.

    A child has a session of its own, and where Linux groups tasks by session (`sched_autogroup`) a niceness counts
    inside the session only: there the session is given one too.
    """
    with suppress(OSError):
        os.nice(nice)
    for _ in range(_AUTOGROUP_TRIES):
        try:
            _AUTOGROUP.write_text(str(nice))
        except BlockingIOError:  # the kernel takes ten of these a second, from everybody together
            time.sleep(_AUTOGROUP_PAUSE)
        except OSError:
            return
        else:
            return


def check_parent(pid: int) -> None:
    """The worker may have died before `settle` could ask for the signal."""
    if os.getppid() != pid:
        os._exit(0)


def take_signals(on_term: Handler) -> None:
    """Again before each job: the last one may have changed them."""
    signal.signal(signal.SIGINT, _nothing)
    signal.signal(signal.SIGTERM, on_term)


def _go_first() -> None:
    file = Path("/proc/self/oom_score_adj")
    with suppress(OSError):  # a sandbox without /proc: the kernel then chooses by size alone
        file.write_text(str(min(_OOM_MAX, int(file.read_text()) + _OOM_STEP)))


def _release_signals() -> None:
    """A process that a job forks must be one that `Process.terminate` can end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _nothing(signum: int, frame: FrameType | None) -> None:
    return None
