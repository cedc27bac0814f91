"""The worker proper, as the supervisor starts it: `python -m lanework._worker '{"target": "module:app", …}'`."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
from typing import Any

from lanework._loading import Target
from lanework.errors import LaneworkError


async def main(arguments: dict[str, Any]) -> None:
    app = Target.parse(arguments["target"]).load()
    worker = app.worker(lanes=arguments.get("lanes"), name=arguments.get("name"), **arguments.get("settings", {}))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.draining.set)
    await worker.run()


def calm_collector() -> None:
    gc.freeze()  # what is loaded now stays: the collector need not look at it again
    gc.set_threshold(20_000, 20, 50)  # thousands of short-lived tasks a second would start it all the time


def runner() -> asyncio.Runner:
    """uvloop's loop where it is installed (`lanework[fast]`)."""
    with contextlib.suppress(ImportError):
        import uvloop  # noqa: PLC0415

        return asyncio.Runner(loop_factory=uvloop.new_event_loop)
    return asyncio.Runner()


if __name__ == "__main__":
    calm_collector()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        runner().run(main(json.loads(sys.argv[1])))  # never closed: that would wait for bodies that do not end
    except LaneworkError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        code = error.exit_code
    else:
        code = 0
    sys.stderr.flush()
    sys.stdout.flush()
    # threads that did not end must not keep the process: the guard gives their jobs back once it is dead
    os._exit(code)
