"""`lanework schedules pause NAME`: no more ticks until it is resumed."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+")
    parser.add_argument("--reason", default="", help="kept with the schedule")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            app.schedules.pause(name, by=who(), reason=options.reason)
            say(f"schedule {name} is paused; jobs that it made go on")
    return 0
