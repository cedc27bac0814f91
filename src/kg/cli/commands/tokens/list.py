"""`kg tokens list`"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from kg.access.access import Token
from kg.cli.house import with_access
from lanework.cli.output import Column, add_output, show


def _day(at: datetime | None, otherwise: str) -> str:
    return otherwise if at is None else f"{at:%Y-%m-%d}"


def state(token: Token, now: datetime) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "expired" if token.expires_at is not None and token.expires_at <= now else "valid"


COLUMNS: list[Column[Token]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("USER", lambda it: it.user, flexible=True),
    Column("NAME", lambda it: it.name, flexible=True),
    Column("STARTS", lambda it: f"{it.start}…"),
    Column("ONLY", lambda it: "all of his" if it.only is None else ", ".join(it.only), flexible=True),
    Column("EXPIRES", lambda it: _day(it.expires_at, "never")),
    Column("USED", lambda it: _day(it.last_used_at, "never")),
    Column("STATE", lambda it: state(it, datetime.now(UTC))),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", help="his alone")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    found = with_access(options, lambda access: access.tokens(options.user))
    show(options.output, found, COLUMNS, id_of=lambda it: it.id, none="there are no tokens")
    return 0
