"""`lanework rates pause NAME 30s`: nobody gets anything for so long."""

from __future__ import annotations

import argparse

from lanework.cli.commands.limits import moment
from lanework.cli.options import seconds
from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("time", type=seconds, metavar="TIME", help="30s, 10m; at most a day")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        app.rates.get(options.name)
        say(f"{options.name} is paused until {moment(app.rates.pause(options.name, options.time, by=who()))}")
    return 0
