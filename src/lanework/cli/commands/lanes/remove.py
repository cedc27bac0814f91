"""`lanework lanes remove NAME --move-to OTHER`"""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--move-to", metavar="LANE", help="the lane that takes its job types and their waiting jobs")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        app.lanes.remove(options.name, move_to=options.move_to, by=who())
    say(f"lane {options.name} is removed")
    return 0
