"""`lanework jobs retry ID…` or by filter: failed jobs go back to the queue, all at once, without one that goes ahead."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from lanework._words import count
from lanework.cli.commands.dead.choice import confirmed, dead_filters
from lanework.cli.commands.dead.columns import REDRIVES
from lanework.cli.commands.jobs.filters import add_filters
from lanework.cli.options import positive, seconds
from lanework.cli.output import Column, add_output, say, show
from lanework.cli.session import application, who
from lanework.cli.text import STATUS_COLOURS
from lanework.client import Lanework
from lanework.errors import ConfigError


@dataclass(frozen=True)
class Answer:
    id: int
    status: str


COLUMNS: list[Column[Answer]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("STATUS", lambda it: it.status, colour=lambda it: STATUS_COLOURS.get(it.status, "")),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="*", type=positive)
    parser.add_argument("--max-age", type=seconds, metavar="TIME", help="of one job: it must have ended so long from now")
    parser.add_argument("--dry-run", action="store_true", help="only say how many it would be")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before acting by filter")
    add_filters(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if len(options.ids) == 1 and not options.dry_run:
            answer = Answer(options.ids[0], app.retry(options.ids[0], by=who(), max_age=options.max_age))
            show(options.output, [answer], COLUMNS, id_of=lambda it: it.id)
            return 0
        return _many(app, options)


def _many(app: Lanework, options: argparse.Namespace) -> int:
    if options.max_age is not None:
        raise ConfigError("--max-age: is for one job; many keep what their types say")
    chosen: dict[str, Any] = dead_filters(app, options) | ({"ids": options.ids} if options.ids else {})
    if not chosen:
        raise ConfigError("say which jobs: ids, or a filter such as --lane or --type")
    if not confirmed(app, options, [chosen], "sent back to the queue"):
        return 0
    started = app.dead.redrive(canary=False, by=who(), **chosen)
    show(options.output, [started], REDRIVES, id_of=lambda it: it.id)
    if (others := len(options.ids) - started.matched) > 0:
        say(f"{count(others, 'job')} of these not failed, or archived: left alone")
    return 0
