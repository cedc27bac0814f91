"""`lanework operations list`: acts on many jobs, newest first."""

from __future__ import annotations

import argparse

from lanework.cli.commands.operations.columns import OPERATIONS
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--state", choices=["running", "done", "stopped", "failed"])
    parser.add_argument("-n", "--limit", type=positive, default=50, metavar="N", help="at most so many (default: 50)")
    parser.add_argument("--before", type=positive, metavar="ID", help="only older ones: the last id of a page gives the next")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = app.operations.list(state=options.state, before=options.before, limit=options.limit)
    show(options.output, found, OPERATIONS, id_of=lambda it: it.id, none="no operation matches")
    return 0
