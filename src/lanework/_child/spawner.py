"""The thread that starts child processes. It never ends.

A child asks the kernel to be killed when its parent dies (PDEATHSIG), and for the kernel the parent is the thread that started
it: started by a pool thread, a child would be killed when that thread ends, in the middle of a job.
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

Started = tuple["subprocess.Popen[bytes]", socket.socket]


class Spawner:
    def __init__(self) -> None:
        self._orders: SimpleQueue[tuple[Future[Started], str]] = SimpleQueue()
        self._lock = threading.Lock()
        self._pid = 0

    async def spawn(self, name: str) -> Started:
        """A new child process in a session and process group of its own, and our end of its channel."""
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
    with theirs:
        fd = theirs.fileno()
        try:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "lanework._child", str(fd), name],
                stdin=subprocess.DEVNULL,
                pass_fds=(fd,),
                start_new_session=True,
            ), ours
        except BaseException:
            ours.close()
            raise


#: One for the process: it must outlive every pool.
spawner = Spawner()
