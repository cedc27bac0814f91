"""`kg ontologies list`"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from kg.cli.remote import ask
from lanework.cli.output import Column, add_output, show

COLUMNS: list[Column[Mapping[str, Any]]] = [
    Column("NAME", lambda it: it["name"], flexible=True),
    Column("STATE", lambda it: it["state"], colour=lambda it: "" if it["state"] == "active" else "yellow"),
    Column("DOCUMENTS", lambda it: f"{it['documents']:,}", right=True),
    Column("CONCEPTS", lambda it: f"{it['concepts']:,}", right=True),
    Column("EPOCH", lambda it: it["epoch"], right=True),
    Column("DESCRIPTION", lambda it: it["description"], flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    show(options.output, ask("GET", "/ontologies"), COLUMNS, id_of=lambda it: it["name"], none="there are no ontologies")
    return 0
