"""`kg tokens revoke`"""

from __future__ import annotations

import argparse

from kg.access.access import Access
from kg.cli.house import with_access
from lanework.cli.options import positive
from lanework.cli.output import say
from lanework.cli.session import who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("token", type=positive, nargs="+")


def run(options: argparse.Namespace) -> int:
    async def act(access: Access) -> None:
        for token in options.token:
            await access.revoke_token(token, by=who())

    with_access(options, act)
    say(f"revoked: {', '.join(map(str, options.token))}")
    return 0
