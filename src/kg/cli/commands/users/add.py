"""`kg users add`"""

from __future__ import annotations

import argparse

from kg.access.access import Access, User
from kg.cli.commands.users.list import COLUMNS
from kg.cli.commands.users.password import add_password, read_password
from kg.cli.house import with_access
from lanework.cli.options import names
from lanework.cli.output import add_output, show
from lanework.cli.session import who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument("--roles", type=names, default=["read_only"], metavar="A,B", help="his roles (default: read_only)")
    add_password(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    password = read_password(options)

    async def act(access: Access) -> User:
        return await access.add_user(options.name, password, options.roles, by=who())

    show(options.output, [with_access(options, act)], COLUMNS, id_of=lambda it: it.name)
    return 0
