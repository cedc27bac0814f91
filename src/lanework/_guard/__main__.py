"""The companion of a worker that lives inside an application: `python -m lanework._guard FD WORKER_PID`."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys

from lanework._guard.guard import Guard


async def main(fd: int, worker_pid: int) -> None:
    # a worker that died before we were here has left its words in the socket: who it was, and what it was about to claim
    alive = os.getppid() == worker_pid
    guard = Guard(socket.socket(fileno=fd), worker_pid, supervised=False)
    await guard.run(alive=alive)
    await guard.bury("its process died")
    await guard.close()


if __name__ == "__main__":
    # signals to the terminal's or the service's group are meant for the worker; we leave when it is dead
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s guard: %(message)s")
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
