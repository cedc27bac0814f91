"""`lanework lanes explain NAME…`: what keeps a lane from starting more."""

from __future__ import annotations

import argparse

from lanework.cli.explaining import show_all
from lanework.cli.output import add_output
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these (default: all)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [app.lanes.explain(name) for name in options.names or [lane.name for lane in app.lanes.list()]]
    show_all(options.output, found, lambda it: f"lane {it.lane}", lambda it: it.lane)
    return 0
