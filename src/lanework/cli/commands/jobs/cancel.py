"""`lanework jobs cancel ID…` or by filter: waiting jobs end at once, running ones are asked to stop."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from lanework._words import count
from lanework.cli.commands.jobs.many import act, add_many, by_filter
from lanework.cli.output import Column, say, show
from lanework.cli.session import application, who
from lanework.cli.text import STATUS_COLOURS
from lanework.client import Lanework
from lanework.errors import JobNotFound

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
    parser.add_argument("--reason", default="", help="kept with the job")
    parser.add_argument("--no-children", dest="children", action="store_false", help="jobs that they have submitted go on")
    add_many(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if options.ids:
            return _by_id(app, options)
        cancel = partial(app.cancel_many, reason=options.reason, children=options.children)
        return act(app, options, "cancel", cancel, which=by_filter(app, options), what=WHAT)


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
