"""`lanework schedules set NAME --cron "0 4 * * *"`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.schedules.columns import show_change
from lanework.cli.commands.schedules.values import add_values, values
from lanework.cli.session import application, who
from lanework.errors import InvalidSchedule


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--type", metavar="TYPE", dest="job", help="another job type", default=None)
    add_values(parser)


def run(options: argparse.Namespace) -> int:
    changes = values(options)
    if not changes and options.job is None:
        raise InvalidSchedule("say what to change, for example --cron '0 4 * * *'; `lanework schedules set --help` lists all")
    with application(options) as app:
        show_change(options.output, app.schedules.set(options.name, job=options.job, by=who(), **changes))
    return 0
