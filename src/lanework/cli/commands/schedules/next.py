"""`lanework schedules next NAME`: the times to come."""

from __future__ import annotations

import argparse

from lanework.cli.commands.schedules.columns import TIMES
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("-n", "--count", type=positive, default=5, help="(default: 5)")
    add_output(parser, ids=False)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        times = app.schedules.next_times(options.name, options.count)
    show(options.output, times, TIMES, none="it never comes again")
    return 0
