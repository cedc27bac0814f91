"""`lanework budgets list`"""

from __future__ import annotations

import argparse

from lanework.budgets import BudgetInfo
from lanework.cli.commands.limits import number
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application

_BUDGETS: list[Column[BudgetInfo]] = [
    Column("BUDGET", lambda it: it.name, flexible=True),
    Column("AMOUNT", lambda it: number(it.amount), right=True),
    Column("PER", lambda it: it.per),
    Column("SPENT", lambda it: number(it.spent), right=True),
    Column("RESERVED", lambda it: number(it.reserved), right=True),
    Column("LEFT", lambda it: number(it.left), right=True, colour=lambda it: "red" if it.left <= 0 else ""),
    Column("WAITING", lambda it: it.waiting, right=True),
    Column("SET BY", lambda it: it.set_by, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these (default: all)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [app.budgets.get(name) for name in options.names] if options.names else app.budgets.list()
    show(options.output, found, _BUDGETS, id_of=lambda it: it.name, none="there are no budgets: nothing is limited")
    return 0
