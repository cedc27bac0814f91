"""`lanework schedules reset NAME`: as code declares it, whatever operators did."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            app.schedules.reset(name, by=who())
            say(f"schedule {name} is as code declares it")
    return 0
