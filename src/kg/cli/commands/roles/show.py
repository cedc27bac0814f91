"""`kg roles show`: what a role allows, a line each, and who has it."""

from __future__ import annotations

import argparse

from kg.access.access import Access, Role, User
from kg.access.permissions import told
from kg.cli.commands.roles.list import COLUMNS
from kg.cli.evidence import wrapped
from kg.cli.house import with_access
from lanework.cli.output import Column, add_output, show, table, write
from lanework.cli.text import safe

GRANTS: list[Column[tuple[str, list[str]]]] = [
    Column("PERMISSION", lambda it: it[0]),
    Column("SCOPE", lambda it: ", ".join(it[1]), flexible=True),
    Column("ALLOWS TO", lambda it: told(it[0]), flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    async def act(access: Access) -> tuple[Role, list[User]]:
        return await access.role(options.name), await access.users()

    role, users = with_access(options, act)
    if options.output != "table":
        show(options.output, [role], COLUMNS, id_of=lambda it: it.name)
        return 0
    having = [user.name for user in users if role.name in user.roles]
    kind = " (built in)" if role.built_in else ""
    write(
        *wrapped(f"{role.name}{kind}: {role.description}" if role.description else f"{role.name}{kind}"),
        *wrapped(f"users: {safe(', '.join(having)) or 'none'}"),
        "",
        *(table(list(role.permissions.items()), GRANTS) if role.permissions else ["it allows nothing"]),
    )
    return 0
