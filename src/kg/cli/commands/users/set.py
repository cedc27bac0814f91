"""`kg users set`"""

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
    parser.add_argument("--roles", type=names, metavar="A,B", help="his roles from now on")
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--disable", dest="disabled", action="store_true", default=None, help="end his logins and tokens")
    state.add_argument("--enable", dest="disabled", action="store_false", help="let him in again")
    add_password(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    password = read_password(options)

    async def act(access: Access) -> User:
        return await access.set_user(options.name, password=password, roles=options.roles, disabled=options.disabled, by=who())

    show(options.output, [with_access(options, act)], COLUMNS, id_of=lambda it: it.name)
    return 0
