"""`lanework dead archive GROUP`, `--id ID`, or by filter: out of the groups, and kept until retention removes them."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from lanework.cli.commands.dead.choice import add_choice, choices, confirmed
from lanework.cli.options import positive
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application, who


@dataclass(frozen=True)
class Archived:
    which: str
    archived: int


COLUMNS: list[Column[Archived]] = [
    Column("WHICH", lambda it: it.which, flexible=True),
    Column("ARCHIVED", lambda it: it.archived, right=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_choice(parser)
    parser.add_argument("--id", dest="ids", metavar="ID", type=positive, action="append", help="this job; may be given again")
    parser.add_argument("--reason", default="", help="kept in the audit log")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        chosen: list[dict[str, Any]] = [{"ids": options.ids}] if options.ids else choices(app, options)
        if not confirmed(app, options, chosen, "archived"):
            return 0
        done = [Archived(one.get("group", "by filter"), app.dead.archive(by=who(), reason=options.reason, **one)) for one in chosen]
    show(options.output, done, COLUMNS, id_of=lambda it: it.which)
    return 0
