"""`kg roles set`: adds a role, or says anew what it allows."""

from __future__ import annotations

import argparse

from kg.access.access import Access, Role
from kg.cli.commands.roles.list import COLUMNS
from kg.cli.house import with_access
from lanework.cli.output import add_output, show
from lanework.cli.session import who
from lanework.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument(
        "--allow", nargs="+", action="extend", metavar="P[=SCOPE]",
        help="all that it allows from now on: graph:read documents:write=own documents:read=ontology:manual (default scope: all)",
    )  # fmt: skip
    parser.add_argument("--nothing", action="store_true", help="it allows nothing from now on")
    parser.add_argument("--description")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    if options.allow and options.nothing:
        raise ConfigError("--allow or --nothing, one of the two")

    async def act(access: Access) -> Role:
        granted = [_grant(one) for one in options.allow or ()]
        if options.allow is None and not options.nothing:  # described anew, and nothing else
            granted = (await access.role(options.name)).pairs
        return await access.set_role(options.name, options.description, granted, by=who())

    show(options.output, [with_access(options, act)], COLUMNS, id_of=lambda it: it.name)
    return 0


def _grant(text: str) -> tuple[str, str]:
    permission, _, scope = text.partition("=")
    return permission, scope or "all"
