"""`lanework workers list`: who works, for which lanes, and when each was last heard of."""

from __future__ import annotations

import argparse

from lanework._words import age
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application
from lanework.cli.text import STATUS_COLOURS
from lanework.reports import WorkerInfo

COLUMNS: list[Column[WorkerInfo]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("NAME", lambda it: it.name, flexible=True),
    Column("STATE", lambda it: it.state, colour=lambda it: STATUS_COLOURS.get(it.state, "")),
    Column("LANES", lambda it: ",".join(it.lanes) or "all", flexible=True),
    Column("JOBS", lambda it: it.running, right=True),
    Column("SEEN", lambda it: f"{age(it.silent_for)} ago", right=True),
    Column("", lambda it: "leads" if it.leads else it.ended_because or "", flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-a", "--all", action="store_true", help="those that have ended, too")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = app.workers(ended=options.all)
    show(options.output, found, COLUMNS, id_of=lambda it: it.id, none="no worker is running; start one with `lanework worker`")
    return 0
