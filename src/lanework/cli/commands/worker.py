"""`lanework worker module:app`: works jobs until SIGTERM or Ctrl-C, then lets them finish and exits with 0."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import logging
import os
import sys
from pathlib import Path
from typing import Any

from lanework._guard.supervisor import Supervisor
from lanework._loading import Target
from lanework.cli.address import parse_dsn
from lanework.cli.options import names, seconds
from lanework.errors import ConfigError

_EPILOG = """The application may be given as module:attribute, module, file.py:attribute or file.py.
SIGTERM or Ctrl-C: nothing more is claimed, running jobs get --grace seconds, the rest goes back with no try used.
A second signal ends it at once. --dsn counts where the application names no database itself."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("target", metavar="TARGET", help="the application: module:app or file.py")
    parser.add_argument("--lanes", type=names, metavar="A,B", help="lanes to serve (default: all)")
    parser.add_argument("--name", help="how `lanework workers list` calls it (default: host and process)")
    parser.add_argument("--grace", type=seconds, metavar="S", help="seconds that running jobs get to finish (default: 30)")


def run(options: argparse.Namespace) -> int:
    _must_exist(options.target)
    if options.dsn:
        parse_dsn(options.dsn, "--dsn")
        os.environ["LANEWORK_DSN"] = options.dsn  # not an argument of the worker's process: those can be seen by others
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("lanework").info("starting %s, lanes: %s", options.target, ", ".join(options.lanes or ["all"]))
    return asyncio.run(_supervise(_arguments(options)))


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    settings = {} if options.grace is None else {"grace": options.grace}
    return {"target": options.target, "lanes": options.lanes, "name": options.name, "settings": settings}


async def _supervise(arguments: dict[str, Any]) -> int:
    return await Supervisor(arguments).run()


def _must_exist(text: str) -> None:
    """Finds a wrong name without running the application's code: a supervisor runs none."""
    target = Target.parse(text)
    if target.module == "__main__":
        if not Path(target.main).is_file():
            raise ConfigError(f"there is no file {target.main}")
        return
    top = target.module.partition(".")[0]
    sys.path.insert(0, str(Path.cwd()))
    if importlib.util.find_spec(top) is None:
        raise ConfigError(f"there is no module {top!r} to import from {Path.cwd()}; a file is given as {top}.py")
