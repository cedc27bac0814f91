"""The end of a process and of everything it started: noticing it, naming it, bringing it about.

The end of a pipe is not the end of a process: what it forked may hold the pipe. A pidfd tells the truth, at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Calls back in the loop, once, when the child process has ended. It is a zombie then: its pid is still its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pid: int, on_death: Callable[[], None]) -> None:
        self._loop = loop
        self._pid = pid
        self._on_death = on_death
        self._fd = _pidfd(pid)
        if self._fd is not None:
            loop.add_reader(self._fd, self._ended)
        else:
            threading.Thread(target=self._wait, name=f"lanework-wait-{pid}", daemon=True).start()

    def _ended(self) -> None:
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
        self._on_death()

    def _wait(self) -> None:
        while not has_ended(self._pid):
            time.sleep(0.02)
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(self._ended)


def has_ended(pid: int) -> bool:
    """Of a child of this process; does not reap it."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def kill_group(pid: int, number: int = signal.SIGKILL) -> None:
    """The process and all that it started. The number is this group's while its leader is not reaped or a member lives."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def group_lives(pid: int) -> bool:
    """Whether any process of the group can still do something. Zombies cannot, and where nobody reaps orphans (in a
    container whose first process does not) they stay."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _PROC.is_dir() or any(_is_member(stat, pid) for stat in _PROC.glob("[0-9]*/stat"))


def _is_member(stat: Path, group: int) -> bool:
    try:
        state, _, its_group = stat.read_bytes().rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(its_group) == group and state not in b"ZX"


def end_group(pid: int, *, timeout: float = 2.0) -> bool:
    """For a guard that has outlived the worker: ends a child's group and waits. True when nothing of it is left."""
    kill_group(pid)
    deadline = time.monotonic() + timeout
    while group_lives(pid) and time.monotonic() < deadline:
        kill_group(pid)
        time.sleep(0.005)
    return not group_lives(pid)


def cause_of(returncode: int, *, out_of_memory: bool = False) -> str:
    """`signal 11 (SIGSEGV)`, `out of memory`, `exit code 3`."""
    if returncode >= 0:
        return f"exit code {returncode}"
    if -returncode == signal.SIGKILL and out_of_memory:
        return "out of memory: killed by the system"
    try:
        return f"signal {-returncode} ({signal.Signals(-returncode).name})"
    except ValueError:
        return f"signal {-returncode}"


def resident_bytes(pid: int) -> int:
    """0 where the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


class OutOfMemory:
    """Whether the kernel has ended a process of our control group for want of memory since the last look."""

    def __init__(self) -> None:
        self._file = _oom_file()
        self._count = self._read()

    def happened(self) -> bool:
        before, self._count = self._count, self._read()
        return self._count > before

    def _read(self) -> int:
        if self._file is None:
            return 0
        with suppress(OSError, ValueError):
            for line in self._file.read_text().splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def _oom_file() -> Path | None:
    """cgroup v2 `memory.events`, else v1 `memory.oom_control`; in a container our group is often the mount itself."""
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            number, kinds, group = line.split(":", 2)
            if number == "0":
                places = [Path("/sys/fs/cgroup" + group) / "memory.events", Path("/sys/fs/cgroup/memory.events")]
            elif "memory" in kinds.split(","):
                root = Path("/sys/fs/cgroup/memory")
                places = [Path(f"{root}{group}") / "memory.oom_control", root / "memory.oom_control"]
            else:
                continue
            for place in places:
                if place.exists():
                    return place
    return None
