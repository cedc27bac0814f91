"""`lanework permits release TOKEN`: takes a hold with a token away from whoever has it."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who
from lanework.errors import LimitNotFound


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tokens", metavar="TOKEN", nargs="+", help="as `permits show` has it; holds of processes end with them")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for token in options.tokens:
            if not app.permits.revoke(token, by=who()):
                raise LimitNotFound(f"no hold has the token {token}: it was released, or has expired")
            say(f"{token} holds nothing any more")
    return 0
