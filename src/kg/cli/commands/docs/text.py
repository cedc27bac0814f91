"""`kg docs text`: the text that was found in a document."""

from __future__ import annotations

import argparse
import sys

from kg.cli.remote import ask
from lanework.cli.options import positive
from lanework.cli.text import is_terminal, safe


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", type=positive, metavar="ID")


def run(options: argparse.Namespace) -> int:
    found: str = ask("GET", f"/documents/{options.document}/text", plain=True)
    sys.stdout.write(safe(found, keep="\n\t") if is_terminal() else found)
    return 0
