"""`kg docs delete`"""

from __future__ import annotations

import argparse

from kg.cli.remote import ask
from lanework.cli.options import positive
from lanework.cli.output import say

LATER = "; what only it supported leaves the graph in the background"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("documents", type=positive, nargs="+", metavar="ID")


def run(options: argparse.Namespace) -> int:
    for document in options.documents:
        left = ask("DELETE", f"/documents/{document}", timeout=300)
        say(f"document {document} is deleted{LATER if left else ', and what only it supported'}")
    return 0
