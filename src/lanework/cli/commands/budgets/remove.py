"""`lanework budgets remove NAME`"""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            app.budgets.remove(name, by=who())
            say(f"{name} is not limited any more")
    return 0
