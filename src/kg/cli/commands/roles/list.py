"""`kg roles list`"""

from __future__ import annotations

import argparse

from kg.access.access import Role
from kg.cli.house import with_access
from lanework.cli.output import Column, add_output, show


def _allows(role: Role) -> str:
    return ", ".join(name if "all" in scopes else f"{name} ({'/'.join(scopes)})" for name, scopes in role.permissions.items())


COLUMNS: list[Column[Role]] = [
    Column("ROLE", lambda it: it.name, flexible=True),
    Column("DESCRIPTION", lambda it: it.description, flexible=True),
    Column("ALLOWS", _allows, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    show(options.output, with_access(options, lambda access: access.roles()), COLUMNS, id_of=lambda it: it.name)
    return 0
