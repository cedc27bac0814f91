"""`kg ontologies create`"""

from __future__ import annotations

import argparse

from kg.cli.commands.ontologies.list import COLUMNS
from kg.cli.remote import ask
from lanework.cli.output import add_output, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument("--description", default="")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    made = ask("POST", "/ontologies", json={"name": options.name, "description": options.description})
    show(options.output, [made], COLUMNS, id_of=lambda it: it["name"])
    return 0
