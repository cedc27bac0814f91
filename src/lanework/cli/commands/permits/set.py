"""`lanework permits set NAME CAPACITY`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.limits import show_change
from lanework.cli.output import add_output
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("capacity", metavar="CAPACITY", type=int, help="0 to 10000; who holds one keeps it")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        show_change(options.output, app.permits.set(options.name, options.capacity, by=who()))
    return 0
