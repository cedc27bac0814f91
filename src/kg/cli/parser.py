"""The tree of `kg` commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lanework.cli.parser import LazyParser, add_commands

COMMANDS = {
    "up": "everything in one command: PostgreSQL, workers, HTTP",
    "serve": "HTTP only",
    "work": "workers only",
    "users": "list, add and change users",
    "tokens": "list, create and revoke API tokens",
    "roles": "list roles and what they allow",
    "audit": "the audit log",
    "eval": "how good the local models are, measured",
    "admin": "workers and lanes of a running server, over HTTP",
}
GROUPS = {
    "users": {
        "list": "users and their roles",
        "add": "add a user",
        "set": "change a user",
        "link": "a link that logs a user in, once",
    },
    "tokens": {"list": "API tokens", "create": "create a token; its secret is shown once", "revoke": "revoke a token"},
    "admin": {"workers": "slots, lanes and active jobs; `workers lanes`: each lane's settings"},
    "audit": {"list": "what operators did, newest first", "verify": "check that no row was changed or taken out"},
}
EPILOG = """exit codes:
  0  done                        3  no (safe) database
  1  failed; or the audit log    4  not the right schema
     was tampered with
  2  wrong usage or setting      5  no such thing

The database is KG_DSN, else LANEWORK_DSN, else an embedded PostgreSQL in the
folder LANEWORK_DATA. `kg admin` asks the server that KG_URL and KG_TOKEN name,
else the one that `kg up` has started here."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    return build().parse_args(argv)


def build() -> LazyParser:
    parser = LazyParser(
        "kg", description="The knowledge-graph platform on Lanework.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add_commands(parser, COMMANDS, "kg.cli.commands", GROUPS)
    return parser
