"""`lanework schedules run NAME`: as if its time had come, paused or not."""

from __future__ import annotations

import argparse

from lanework.cli.commands.schedules.columns import TICKS
from lanework.cli.output import add_output, show
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--force", action="store_true", help="without its condition, and beside a job of it that still runs")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        tick = app.schedules.run_now(options.name, by=who(), force=options.force)
    show(options.output, [tick], TICKS, id_of=lambda it: it.job_id)
    return 0
