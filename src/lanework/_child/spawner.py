"""The thread that starts child processes. It never ends.

A child asks the kernel to be killed when its parent dies (PDEATHSIG), and for the kernel the parent is the thread that
started it: started by a pool thread, a child would be killed when that thread ends, in the middle of a job.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import NamedTuple


class Started(NamedTuple):
    popen: subprocess.Popen[bytes]
    sock: socket.socket  # our end of the channel
    output: list[int]  # the reading ends of its stdout and stderr


class Spawner:
    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[Future[Started], str]] = SimpleQueue()
        self._lock = threading.Lock()
        self._pid = 0

    async def spawn(self, name: str) -> Started:
        """A new child process, in a session and a process group of its own."""
        self._ensure_thread()
        order: Future[Started] = Future()
        self._orders.put((order, name))
        return await asyncio.wrap_future(order)

    def _ensure_thread(self) -> None:
        with self._lock:
            # After a fork the thread is the parent's, not ours.
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._orders = SimpleQueue()
                threading.Thread(target=self._work, name="lanework-spawner", daemon=True).start()

    def _work(self) -> None:
        while True:
            order, name = self._orders.get()
            try:
                order.set_result(_start(name))
            except BaseException as error:
                order.set_exception(error)


def _start(name: str) -> Started:
    ours, theirs = socket.socketpair()
    stdout, stderr = os.pipe(), os.pipe()
    given = (theirs.fileno(), stdout[1], stderr[1])
    try:
        return Started(_popen(name, *given), ours, [stdout[0], stderr[0]])
    except BaseException:
        ours.close()
        os.close(stdout[0])
        os.close(stderr[0])
        raise
    finally:
        theirs.close()
        os.close(stdout[1])
        os.close(stderr[1])


def _popen(name: str, channel: int, stdout: int, stderr: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        # -P: the folder we stand in must not be searched before the standard library
        [sys.executable, "-P", "-m", "lanework._child", str(channel), name],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=(channel,),
        start_new_session=True,
    )


#: One for the process: it must outlive every pool.
spawner = Spawner()
