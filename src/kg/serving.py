"""One HTTP process: `python -m kg.serving FD`, on a socket that its parent has opened. Streams end when it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

from kg.app import make_api
from lanework.api.server import Server, make_config


def main(fd: int) -> None:
    config = make_config(make_api())
    _die_with_parent()
    with socket.socket(fileno=fd) as listening:
        Server(config).run(sockets=[listening])


def _die_with_parent() -> None:
    """No process of ours outlives the one that watches it, however that one ends."""
    parent = os.getppid()

    def watch() -> None:
        pause = threading.Event()
        while os.getppid() == parent:
            pause.wait(0.5)
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=watch, daemon=True, name="parent").start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
