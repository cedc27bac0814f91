"""`lanework lanes resume NAME…`, or `--all` after a drain of everything."""

from __future__ import annotations

import argparse

from lanework.cli.commands.lanes.columns import show_change
from lanework.cli.commands.lanes.drain import chosen
from lanework.cli.output import add_output, say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*")
    parser.add_argument("--all", action="store_true", help="ends `drain --all`; lanes that are drained by name stay so")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        names = chosen(options)
        if options.all:
            say("lanes start jobs again" if app.resume_all(by=who()) else "everything was not drained")
        for name in names:
            show_change(options.output, app.lanes.resume(name, by=who()))
    return 0
