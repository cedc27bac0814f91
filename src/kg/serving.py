"""One HTTP process: `python -m kg.serving FD`, on a socket that its parent has opened. Streams end when it is told to stop."""

from __future__ import annotations

import logging
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from kg.logs import speak
from kg.parent import die_with_parent
from lanework.errors import LaneworkError

#: Seconds that requests get to end after SIGTERM. Streams end at once.
GRACE = 10


class Server(uvicorn.Server):
    """Tells the application at once that it is being stopped: a stream must not hold it up."""

    def __init__(self, config: uvicorn.Config, api: FastAPI) -> None:
        super().__init__(config)
        self._api = api

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._api.state.closing.set()
        super().handle_exit(sig, frame)


def main(fd: int) -> None:
    die_with_parent()
    speak()
    from kg.app import make_api  # noqa: PLC0415 - imports the jobs that settings name: what is wrong there is told, not thrown

    api = make_api()
    config = uvicorn.Config(
        api, log_level=logging.WARNING, access_log=False, timeout_graceful_shutdown=GRACE, server_header=False, date_header=True,
        timeout_keep_alive=30,
    )  # fmt: skip
    with socket.socket(fileno=fd) as listening:
        Server(config, api).run(sockets=[listening])


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]))
    except LaneworkError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        sys.exit(error.exit_code)
