"""`kg users list`"""

from __future__ import annotations

import argparse

from kg.access.access import User
from kg.cli.house import with_access
from lanework.cli.output import Column, add_output, show

COLUMNS: list[Column[User]] = [
    Column("NAME", lambda it: it.name, flexible=True),
    Column("ROLES", lambda it: ", ".join(it.roles), flexible=True),
    Column("STATE", lambda it: "disabled" if it.disabled else "active"),
    Column("PASSWORD", lambda it: "yes" if it.has_password else "none"),
    Column("LAST SEEN", lambda it: f"{it.last_used_at:%Y-%m-%d %H:%M}" if it.last_used_at else "never"),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    found = with_access(options, lambda access: access.users())
    show(options.output, found, COLUMNS, id_of=lambda it: it.name, none="there are no users; `kg users add NAME` adds one")
    return 0
