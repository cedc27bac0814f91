"""`lanework rates resume NAME`"""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        say(f"{options.name} goes on" if app.rates.resume(options.name, by=who()) else f"{options.name} was not paused")
    return 0
