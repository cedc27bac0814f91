"""`lanework budgets set owner:alice 20 --per day`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.limits import show_change
from lanework.cli.output import add_output
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="job:<id>, owner:<owner>, day, or any name that jobs reserve in")
    parser.add_argument("amount", metavar="AMOUNT", help="0 or more; jobs that fit now go on")
    parser.add_argument("--per", choices=("hour", "day", "month", "total"), help="as it was; total for a new one")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        show_change(options.output, app.budgets.set(options.name, options.amount, per=options.per, by=who()))
    return 0
