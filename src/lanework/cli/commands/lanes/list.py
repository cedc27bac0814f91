"""`lanework lanes list`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.lanes.columns import LANES
from lanework.cli.output import add_output, show
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these (default: all)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [app.lanes.get(name) for name in options.names] if options.names else app.lanes.list()
    show(options.output, found, LANES, id_of=lambda it: it.name)
    return 0
