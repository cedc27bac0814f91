"""`lanework migrate`: applies what is pending; `--plan` only lists it; `--print` needs no database."""

from __future__ import annotations

import argparse

from lanework import migrate
from lanework._words import count
from lanework.cli.output import say, write
from lanework.cli.session import connection


def configure(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--plan", action="store_true", help="list what would be applied, change nothing")
    what.add_argument("--print", action="store_true", help="print the whole schema as SQL for psql; needs no database")


def run(options: argparse.Namespace) -> int:
    if options.print:
        write(migrate.render().rstrip("\n"))
        return 0
    with connection(options) as conn:
        found = migrate.plan(conn) if options.plan else migrate.apply(conn)
    write(*(str(one) for one in found))
    if not found:
        say("nothing to do: the schema is up to date")
    else:
        say(f"{count(len(found), 'migration')} {'to apply' if options.plan else 'applied'}")
    return 0
