"""Other processes, seen from outside: are they alive, stopped, whose children are they, and ending them for good."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import sys
from pathlib import Path

from lanework._child.death import group_lives

_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Orphans of our descendants become our children, so that none can be missed."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def state_of(pid: int) -> str:
    """The letter of `ps`: R running, S sleeping, T stopped, Z zombie; empty when gone or unknown."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[0]


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return state_of(pid) == "Z"


def children_of(pid: int) -> list[int]:
    """Children of a process, but for a PostgreSQL server: an embedded one outlives whoever has started it."""
    found = []
    for entry in Path("/proc").iterdir() if sys.platform == "linux" else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                name, _, rest = (entry / "stat").read_text().partition("(")[2].rpartition(")")
                if int(rest.split()[1]) == pid and name != "postgres":
                    found.append(int(entry.name))
    return found


def kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def reap_orphans() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


async def end_all(pids: set[int], *, own_orphans: bool) -> None:
    """Kills these groups, and with `own_orphans` every child we have; comes back when nothing of them runs any more."""
    pause = 0.001
    while True:
        if own_orphans:
            reap_orphans()
            pids |= set(children_of(os.getpid()))
        living = {pid for pid in pids if group_lives(pid) or not is_gone(pid)}
        if not living and own_orphans:
            # those who died since the list was made have left us their own children
            living = {pid for pid in children_of(os.getpid()) if not is_gone(pid)}
        if not living:
            return
        for pid in living:
            kill_group(pid)
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.05)


async def wait_for_death(pid: int) -> None:
    """Returns when the process is dead. Not by the end of a pipe: a forked grandchild may hold that open."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        while not is_gone(pid):  # noqa: ASYNC110 - there is nothing else to wait on
            await asyncio.sleep(0.2)
        return
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(fd, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)
