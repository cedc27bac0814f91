"""`lanework maintenance enable TASK`: it runs again when it is due."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="TASK", nargs="+")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            app.maintenance.enable(name, by=who())
            say(f"task {name} is on")
    return 0
