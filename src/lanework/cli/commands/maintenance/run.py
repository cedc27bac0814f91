"""`lanework maintenance run TASK`: at the leader's next look."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="TASK", nargs="+")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for name in options.names:
            app.maintenance.run_now(name, by=who())
            say(f"task {name} is asked for; `lanework maintenance results {name}` will tell")
    return 0
