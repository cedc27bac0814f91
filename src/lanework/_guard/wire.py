"""Lines between a worker and its guard: a letter and what belongs to it.

worker → guard                                   guard → worker
h {json}   hello: who I am, where the database   s {json}   stop this job: kind, job, attempt, reason
o no       this claim is being asked for         f          fence: no beat got through for too long, stop everything
c no       every job of this claim is settled    k          a beat got through
p pid      a child process has started           r no why   the database has declared this worker dead
x pid      it is gone, with all its group        d          drain: finish what runs, claim nothing, leave
j pid id   it runs this job
t          the event loop moves
n          beat now: a stop was asked for
l reason   leaving: what is left may be given back, nobody is to blame
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any


class Lines:
    """Whole lines out of a non-blocking socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._rest = b""
        self.closed = False

    def read(self) -> Iterator[tuple[str, str]]:
        """What has arrived, up to about a megabyte."""
        for _ in range(16):
            try:
                data = self.sock.recv(65536)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                data = b""
            self.closed = self.closed or not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                yield line[:1].decode(), line[2:].decode()
            if self.closed:
                return


def line(kind: str, rest: object = "") -> bytes:
    return f"{kind} {rest}\n".encode()


def json_line(kind: str, value: Any) -> bytes:
    return line(kind, json.dumps(value, separators=(",", ":")))
