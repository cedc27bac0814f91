"""One HTTP process: `python -m kg.serving FD`, on a socket that its parent has opened. Streams end when it is told to stop."""

from __future__ import annotations

import socket
import sys

from kg.logs import speak
from kg.parent import die_with_parent
from lanework.errors import LaneworkError


def main(fd: int) -> None:
    die_with_parent()
    speak()
    from kg.app import make_api  # noqa: PLC0415 - imports the jobs that settings name: what is wrong there is told, not thrown
    from lanework.api.server import Server, make_config  # noqa: PLC0415

    config = make_config(make_api())
    with socket.socket(fileno=fd) as listening:
        Server(config).run(sockets=[listening])


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]))
    except LaneworkError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        sys.exit(error.exit_code)
