"""`lanework jobs cancel ID…` or by filter: waiting jobs end at once, running ones are asked to stop."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from lanework.cli.commands.jobs.filters import add_filters, filters, pages
from lanework.cli.options import positive
from lanework.cli.output import Column, add_output, say, show
from lanework.cli.session import application, who
from lanework.cli.text import STATUS_COLOURS, count
from lanework.client import Lanework
from lanework.errors import ConfigError, JobNotFound

LIVE = ["pending", "awaiting_approval", "scheduled", "blocked", "approved", "running"]


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
    parser.add_argument("--dry-run", action="store_true", help="only say how many it would be")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before cancelling by filter")
    add_filters(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        ids = list(options.ids) or _matching(app, options)
        if options.dry_run:
            return _dry_run(app, options, ids)
        if not options.ids and not options.yes:
            _ask(len(ids))
        answers = list(_cancel(app, ids, options.reason))
    show(options.output, answers, COLUMNS, id_of=lambda it: it.id, none="no job matches")
    _sum_up(answers)
    return JobNotFound.exit_code if any(one.answer == "not found" for one in answers) else 0


def _matching(app: Lanework, options: argparse.Namespace) -> list[int]:
    chosen = filters(app, options)
    if not chosen:
        raise ConfigError("say which jobs: ids, or a filter such as --lane or --type")
    chosen.setdefault("status", LIVE)
    return [job.id for page in pages(app, chosen, most=None) for job in page if not job.finished]


def _dry_run(app: Lanework, options: argparse.Namespace, ids: list[int]) -> int:
    found = [Answer(job.id, job.status) for job in map(app.get, ids)]
    show(options.output, found, [COLUMNS[0], Column("STATUS", lambda it: it.answer)], id_of=lambda it: it.id)
    live = [one for one in found if one.answer in LIVE]
    say(f"{count(len(live), 'job')} would be cancelled; nothing was done")
    return 0


def _ask(number: int) -> None:
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise ConfigError(f"{count(number, 'job')} would be cancelled; without a terminal to ask at, say --yes or --dry-run")
    sys.stderr.write(f"cancel {count(number, 'job')}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was cancelled")


def _cancel(app: Lanework, ids: list[int], reason: str) -> Iterator[Answer]:
    """One commit each: however many there are, none keeps a claim waiting, and a broken-off run is simply run again."""
    for job_id in ids:
        try:
            yield Answer(job_id, app.cancel(job_id, by=who(), reason=reason))
        except JobNotFound:
            yield Answer(job_id, "not found")


def _sum_up(answers: list[Answer]) -> None:
    if len(answers) > 1:
        say(", ".join(f"{number:,} {answer}" for answer, number in Counter(one.answer for one in answers).items()))
