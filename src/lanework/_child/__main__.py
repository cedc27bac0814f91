"""`python -m lanework._child <fd> <name>`: a child process of a pool. Started by the worker, of no use by hand."""

from __future__ import annotations

import os
import socket
import sys
import traceback
from typing import Any

from lanework._child import guards
from lanework._child.desk import Desk
from lanework._child.link import Wire
from lanework._child.stdio import Stdio
from lanework._loading import Target, enter_child


def main() -> None:
    guards.settle()
    enter_child()
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)  # a program that the job starts must not hold the channel
    wire = Wire(socket.socket(fileno=fd))
    serve(wire, _first(wire))


def serve(wire: Wire, told: dict[str, Any]) -> None:
    guards.check_parent(told["parent"])
    guards.give_way(told["nice"])
    target = Target.from_json(told["target"])
    stdio = Stdio()
    try:
        target.enter()
        desk = Desk(wire, stdio, target, target.load())
        desk.start()
    except BaseException:
        wire.send("failed", traceback.format_exc())
        raise SystemExit(1) from None
    desk.serve()


def _first(wire: Wire) -> dict[str, Any]:
    """The worker sends nothing more before `ready`."""
    ((kind, told),) = wire.receive()
    assert kind == "boot"
    return dict(told)


if __name__ == "__main__":
    main()
