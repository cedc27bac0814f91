"""`lanework permits show NAME`: who holds it, and who waits."""

from __future__ import annotations

import argparse

from lanework.cli.commands.limits import moment
from lanework.cli.commands.permits.list import PERMITS
from lanework.cli.output import Column, add_output, show, write
from lanework.cli.session import application
from lanework.permits import Holder, Waiting

_HOLDERS: list[Column[Holder]] = [
    Column("HOLDER", lambda it: it.name, flexible=True),
    Column("COUNT", lambda it: it.count, right=True),
    Column("JOBS", lambda it: ", ".join(map(str, it.jobs)), flexible=True),
    Column("SINCE", lambda it: moment(it.since)),
    Column("EXPIRES", lambda it: moment(it.expires_at) or "with its process"),
    Column("TOKEN", lambda it: it.token or ""),
]
_WAITING: list[Column[Waiting]] = [
    Column("WAITS", lambda it: it.name, flexible=True),
    Column("COUNT", lambda it: it.count, right=True),
    Column("JOBS", lambda it: ", ".join(map(str, it.jobs)), flexible=True),
    Column("SINCE", lambda it: moment(it.since)),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = app.permits.get(options.name)
    show(options.output, [found], PERMITS, id_of=lambda it: it.name)
    if options.output == "table":
        if found.holders:
            write("")
            show("table", found.holders, _HOLDERS)
        if found.waiters:
            write("")
            show("table", found.waiters, _WAITING)
    return 0
