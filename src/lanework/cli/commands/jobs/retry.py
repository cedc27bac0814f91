"""`lanework jobs retry ID…` or by filter: failed jobs go back to the queue, all at once, without one that goes ahead."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from typing import Any

from lanework._words import count
from lanework.cli.commands.jobs.many import act, add_many, by_filter
from lanework.cli.options import seconds
from lanework.cli.output import Column, say, show
from lanework.cli.session import application, who
from lanework.cli.text import STATUS_COLOURS
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
    parser.add_argument("--max-age", type=seconds, metavar="TIME", help="each must have ended so long from now")
    parser.add_argument("--reason", default="", help="of many: kept with the operation")
    add_many(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if len(options.ids) == 1 and not options.dry_run:
            answer = Answer(options.ids[0], app.retry(options.ids[0], by=who(), max_age=options.max_age))
            show(options.output, [answer], COLUMNS, id_of=lambda it: it.id)
            return 0
        which = {"ids": options.ids} if options.ids else _failed(by_filter(app, options))
        if (others := len(options.ids) - app.operations.count("retry", which)) > 0:
            say(f"{count(others, 'job')} of these not failed: left alone")
        retry = partial(app.retry_many, max_age=options.max_age, reason=options.reason)
        return act(
            app, options, "retry", retry, which=which, what="sent back to the queue", beyond="archived, or not failed any more"
        )


def _failed(chosen: dict[str, Any]) -> dict[str, Any]:
    if chosen.get("status", ["failed"]) != ["failed"]:
        raise ConfigError("--status: only failed jobs can be sent back")
    return chosen
