"""`lanework lanes resume NAME`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.lanes.columns import show_change
from lanework.cli.output import add_output
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            show_change(options.output, app.lanes.resume(name, by=who()))
    return 0
