"""`lanework lanes drain NAME…` or `--all`: nothing more starts; running jobs finish. `--wait` until they have."""

from __future__ import annotations

import argparse
import time

from lanework.cli.commands.lanes.columns import show_change
from lanework.cli.options import seconds
from lanework.cli.output import add_output, say
from lanework.cli.session import application, who
from lanework.client import Lanework
from lanework.errors import ConfigError, JobNotFinished


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--all", action="store_true", help="every lane at once, by one switch; `resume --all` ends it")
    parser.add_argument("--reason", default="", help="of --all: shown wherever somebody asks why nothing starts")
    parser.add_argument("--wait", type=seconds, metavar="TIME", help="until nothing runs there, at most so long (30, 10m, 2h)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        names = chosen(options)
        if options.all:
            changed = app.drain_all(by=who(), reason=options.reason)
            say("nothing starts any more; what runs finishes" if changed else "everything was drained already")
        for name in names:
            show_change(options.output, app.lanes.drain(name, by=who()))
        if options.wait is not None:
            _wait(app, names or [lane.name for lane in app.lanes.list()], options.wait)
    return 0


def chosen(options: argparse.Namespace) -> list[str]:
    """Lanes by name, or all of them; not both, and not neither."""
    if bool(options.names) == options.all:
        raise ConfigError("say which lanes: names, or --all")
    return list(options.names)


def _wait(app: Lanework, names: list[str], patience: float) -> None:
    deadline = time.monotonic() + patience
    while busy := sum(app.lanes.get(name).running for name in names):
        if time.monotonic() >= deadline:
            raise JobNotFinished(f"still running after {patience:g} s: {busy}; they go on")
        time.sleep(0.2)
    say("nothing runs any more")
