"""`lanework jobs priority N ID…` or by filter: the place of waiting jobs in the queue, at once effective."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from lanework._words import count
from lanework.cli.commands.jobs.filters import add_filters, filters
from lanework.cli.commands.operations.columns import OPERATIONS, ask, sum_up
from lanework.cli.options import positive
from lanework.cli.output import Column, add_output, say, show
from lanework.cli.session import application, who
from lanework.client import Lanework
from lanework.errors import ConfigError

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
    parser.add_argument("ids", metavar="ID", nargs="*", type=positive)
    parser.add_argument("--reason", default="", help="kept with the operation")
    parser.add_argument("--dry-run", action="store_true", help="only say how many it would be")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before changing many")
    add_filters(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        return _by_id(app, options) if options.ids else _by_filter(app, options)


def _by_filter(app: Lanework, options: argparse.Namespace) -> int:
    chosen = filters(app, options)
    if not chosen:
        raise ConfigError("say which jobs: ids, or a filter such as --lane or --type")
    if not options.dry_run and not options.yes:
        ask(app.operations.count("priority", chosen), WHAT)
    done = app.set_priority_many(options.priority, **chosen, by=who(), reason=options.reason, dry_run=options.dry_run)
    show(options.output, [done] if done.id or options.output != "ids" else [], OPERATIONS, id_of=lambda it: it.id)
    sum_up(done, WHAT)
    return 0


def _by_id(app: Lanework, options: argparse.Namespace) -> int:
    if options.dry_run:
        found = [Change(job.id, job.priority, options.priority) for job in map(app.get, options.ids)]
        say(f"{count(len(found), 'job')} would be {WHAT}; nothing was done")
    else:
        found = [Change(job, app.set_priority(job, options.priority, by=who()), options.priority) for job in options.ids]
    show(options.output, found, COLUMNS, id_of=lambda it: it.id)
    return 0
