"""`lanework schedules remove NAME`: jobs that it made go on."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            app.schedules.remove(name, by=who())
            say(f"schedule {name} is removed")
    return 0
