"""`lanework lanes thaw ID…`: ends freezes; each lane is again as its own settings say."""

from __future__ import annotations

import argparse

from lanework.cli.options import positive
from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=positive, help="of `lanework lanes freeze`")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for one in options.ids:
            say(f"let go: {', '.join(app.freezes.end(one, by=who()))}")
    return 0
