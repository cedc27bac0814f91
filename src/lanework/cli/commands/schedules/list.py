"""`lanework schedules list`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.schedules.columns import SCHEDULES
from lanework.cli.output import add_output, show
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these (default: all)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [app.schedules.get(name) for name in options.names] if options.names else app.schedules.list()
    show(
        options.output,
        found,
        SCHEDULES,
        id_of=lambda it: it.name,
        none="there are no schedules; `lanework schedules add` makes one",
    )
    return 0
