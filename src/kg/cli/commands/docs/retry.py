"""`kg docs retry`: what failed of a document is done again."""

from __future__ import annotations

import argparse

from kg.cli.documents import COLUMNS
from kg.cli.remote import ask
from kg.cli.waiting import wait_for
from lanework.cli.options import positive
from lanework.cli.output import add_output, show


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("documents", type=positive, nargs="+", metavar="ID")
    parser.add_argument("--wait", action="store_true", help="wait until they are done; 1 if something failed")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    found = [ask("POST", f"/documents/{document}/retry")["document"] for document in options.documents]
    code = 0
    if options.wait:
        code, found = wait_for(found, options.output)
    if not options.wait or options.output != "table":
        show(options.output, found, COLUMNS, id_of=lambda it: it["id"])
    return code
