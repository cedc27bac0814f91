"""`lanework operations stop ID…`: goes no further; what is done stays done."""

from __future__ import annotations

import argparse

from lanework.cli.commands.operations.columns import OPERATIONS
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=positive)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [app.operations.stop(one, by=who()) for one in options.ids]
    show(options.output, found, OPERATIONS, id_of=lambda it: it.id)
    return 0
