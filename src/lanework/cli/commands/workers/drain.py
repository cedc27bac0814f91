"""`lanework workers drain ID…`: nothing more is claimed by it; what it runs finishes."""

from __future__ import annotations

import argparse

from lanework.cli.commands.workers.list import COLUMNS
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=positive)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for worker in options.ids:
            app.drain_worker(worker, by=who())
        found = [one for one in app.workers() if one.id in options.ids]
    show(options.output, found, COLUMNS, id_of=lambda it: it.id)
    return 0
