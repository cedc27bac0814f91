"""No process of ours outlives the one that watches it, however that one ends: a pipe that only the parent can write to is closed by
the kernel when the parent is gone."""

from __future__ import annotations

import os
import signal
import threading

#: Where a child finds the pipe's end, in its environment.
PARENT_FD = "KG_PARENT_FD"


def die_with_parent() -> None:
    """SIGTERM for this process once its parent has ended. Does nothing for a process that somebody has started by himself."""
    told = os.environ.pop(PARENT_FD, "")
    if not told:
        return
    fd = int(told)
    os.set_inheritable(fd, False)

    def watch() -> None:
        while os.read(fd, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent").start()


#: The process that supervises a worker, in the worker's environment.
SUPERVISOR_PID = "KG_SUPERVISOR_PID"
LOOK_EVERY = 0.3


def end_without_supervisor() -> None:
    """SIGTERM for this process once its supervisor has ended. An engine's worker can go on alone; here another is
    started for it."""
    told = os.environ.pop(SUPERVISOR_PID, "")
    if not told:
        return
    supervisor, pause = int(told), threading.Event()

    def watch() -> None:
        while os.getppid() == supervisor:
            pause.wait(LOOK_EVERY)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="supervisor").start()
