"""`kg ontologies set`: describe, freeze, pin or activate."""

from __future__ import annotations

import argparse
from urllib.parse import quote

from kg.cli.commands.ontologies.list import COLUMNS
from kg.cli.remote import ask
from lanework.cli.output import add_output, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    state = parser.add_mutually_exclusive_group()
    state.add_argument("--freeze", dest="state", action="store_const", const="frozen", help="take no documents")
    state.add_argument("--pin", dest="state", action="store_const", const="pinned", help="grow, and let nothing reshape it")
    state.add_argument("--activate", dest="state", action="store_const", const="active", help="as at its beginning")
    parser.add_argument("--description")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    change = {"state": options.state, "description": options.description}
    changed = ask("PATCH", f"/ontologies/{quote(options.name, safe='')}", json=change)
    show(options.output, [changed], COLUMNS, id_of=lambda it: it["name"])
    return 0
