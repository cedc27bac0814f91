"""`lanework jobs priority N ID…` or by filter: the place of waiting jobs in the queue, at once effective."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

from lanework._words import count
from lanework.cli.commands.jobs.many import act, add_many, by_filter
from lanework.cli.output import Column, say, show
from lanework.cli.session import application, who
from lanework.client import Lanework

WHAT = "given another priority"


@dataclass(frozen=True)
class Change:
    id: int
    was: int
    priority: int


COLUMNS: list[Column[Change]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("WAS", lambda it: it.was, right=True),
    Column("PRIORITY", lambda it: it.priority, right=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("priority", metavar="N", type=int, help="-1000 to 1000; higher ones start first")
    parser.add_argument("--reason", default="", help="kept with the operation")
    add_many(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if options.ids:
            return _by_id(app, options)
        change = partial(app.set_priority_many, options.priority, reason=options.reason)
        return act(app, options, "priority", change, which=by_filter(app, options), what=WHAT)


def _by_id(app: Lanework, options: argparse.Namespace) -> int:
    if options.dry_run:
        found = [Change(job.id, job.priority, options.priority) for job in map(app.get, options.ids)]
        say(f"{count(len(found), 'job')} would be {WHAT}; nothing was done")
    else:
        found = [Change(job, app.set_priority(job, options.priority, by=who()), options.priority) for job in options.ids]
    show(options.output, found, COLUMNS, id_of=lambda it: it.id)
    return 0
