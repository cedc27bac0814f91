"""`lanework schedules history NAME`: its ticks, newest first, those that made no job too."""

from __future__ import annotations

import argparse

from lanework.cli.commands.schedules.columns import TICKS
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("-n", "--limit", type=positive, default=20, help="(default: 20)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        app.schedules.get(options.name)
        found = app.schedules.history(options.name, limit=options.limit)
    show(options.output, found, TICKS, id_of=lambda it: it.tick.isoformat(), none="it has had no tick yet")
    return 0
