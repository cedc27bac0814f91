"""`lanework jobs cancel ID…` or by filter: waiting jobs end at once, running ones are asked to stop."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lanework._words import count
from lanework.cli.commands.jobs.filters import add_filters, filters
from lanework.cli.commands.operations.columns import OPERATIONS, ask, sum_up
from lanework.cli.options import positive
from lanework.cli.output import Column, add_output, say, show
from lanework.cli.session import application, who
from lanework.cli.text import STATUS_COLOURS
from lanework.client import Lanework
from lanework.errors import ConfigError, JobNotFound

LIVE = ["pending", "awaiting_approval", "scheduled", "blocked", "approved", "running"]
WHAT = "cancelled or asked to stop"


@dataclass(frozen=True)
class Answer:
    id: int
    answer: str


COLUMNS: list[Column[Answer]] = [
    Column("ID", lambda it: it.id, right=True),
    Column(
        "ANSWER",
        lambda it: f"already {it.answer}" if it.answer in ("completed", "failed") else it.answer,
        colour=lambda it: STATUS_COLOURS.get(it.answer, ""),
    ),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="*", type=positive)
    parser.add_argument("--reason", default="", help="kept with the job")
    parser.add_argument("--no-children", dest="children", action="store_false", help="jobs that they have submitted go on")
    parser.add_argument("--dry-run", action="store_true", help="only say how many it would be")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before cancelling by filter")
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
        ask(app.operations.count("cancel", chosen), WHAT)
    done = app.cancel_many(**chosen, by=who(), reason=options.reason, children=options.children, dry_run=options.dry_run)
    show(options.output, [done] if done.id or options.output != "ids" else [], OPERATIONS, id_of=lambda it: it.id)
    sum_up(done, WHAT)
    return 0


def _by_id(app: Lanework, options: argparse.Namespace) -> int:
    if options.dry_run:
        found = [Answer(job.id, job.status) for job in map(app.get, options.ids)]
        show(options.output, found, [COLUMNS[0], Column("STATUS", lambda it: it.answer)], id_of=lambda it: it.id)
        say(f"{count(len([one for one in found if one.answer in LIVE]), 'job')} would be {WHAT}; nothing was done")
        return 0
    answers = list(_cancel(app, options))
    show(options.output, answers, COLUMNS, id_of=lambda it: it.id)
    if len(answers) > 1:
        say(", ".join(f"{number:,} {answer}" for answer, number in Counter(one.answer for one in answers).items()))
    return JobNotFound.exit_code if any(one.answer == "not found" for one in answers) else 0


def _cancel(app: Lanework, options: argparse.Namespace) -> Iterator[Answer]:
    for job_id in options.ids:
        try:
            yield Answer(job_id, app.cancel(job_id, by=who(), reason=options.reason, children=options.children))
        except JobNotFound:
            yield Answer(job_id, "not found")
