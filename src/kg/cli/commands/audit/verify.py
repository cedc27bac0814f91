"""`kg audit verify`: exit code 1 if a row of the audit log was changed, taken out or put in."""

from __future__ import annotations

import argparse

from kg.cli.house import settings_of
from lanework.audit import AuditCheck
from lanework.cli.output import Column, add_output, say, show
from lanework.cli.session import application

COLUMNS: list[Column[AuditCheck]] = [
    Column("SEALED", lambda it: it.sealed, right=True),
    Column("UNSEALED", lambda it: it.unsealed, right=True),
    Column("FIRST BAD ROW", lambda it: "none" if it.ok else it.bad, colour=lambda it: "" if it.ok else "red"),
    Column("HEAD", lambda it: it.head),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    settings_of(options)
    options.dsn = None  # it is in the environment now
    with application(options) as app:
        found = app.verify_audit()
    show(options.output, [found], COLUMNS, id_of=lambda it: it.bad or "")
    if found.ok:
        return 0
    say(f"row {found.bad} of the audit log is not what was sealed: it was changed, taken out, or put in afterwards")
    return 1
