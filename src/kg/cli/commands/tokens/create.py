"""`kg tokens create`: the secret goes to stdout, once."""

from __future__ import annotations

import argparse

from kg.access.access import Access, NewToken
from kg.cli.house import with_access
from lanework.cli.options import names
from lanework.cli.output import say, write
from lanework.cli.session import who
from lanework.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user")
    parser.add_argument("--name", default="", help="what it is for")
    parser.add_argument("--only", type=names, metavar="P,Q", help="limit it to these permissions (default: all of his)")
    parser.add_argument("--days", type=float, default=90.0, help="how long it is valid; 0: for ever (default: 90)")


def run(options: argparse.Namespace) -> int:
    if options.days < 0:
        raise ConfigError(f"--days: expected a number from 0 on, got {options.days}")

    async def act(access: Access) -> NewToken:
        return await access.create_token(options.user, options.name, only=options.only, days=options.days or None, by=who())

    token = with_access(options, act)
    write(token.secret)
    say(f"token {token.id}; this is the only time that it is shown")
    return 0
