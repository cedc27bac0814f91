"""`lanework schedules add NAME TYPE --cron "0 3 * * *"`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.schedules.columns import SCHEDULES
from lanework.cli.commands.schedules.values import add_values, values
from lanework.cli.output import show
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("type", metavar="TYPE", help="the job type that it submits")
    add_values(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        app.schedules.create(options.name, options.type, by=who(), **values(options))
        made = app.schedules.get(options.name)
    show(options.output, [made], SCHEDULES, id_of=lambda it: it.name)
    return 0
