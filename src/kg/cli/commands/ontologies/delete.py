"""`kg ontologies delete`"""

from __future__ import annotations

import argparse
import sys
from urllib.parse import quote

from kg.cli.remote import ask
from lanework.cli.output import say
from lanework.errors import ConfigError


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(options: argparse.Namespace) -> int:
    path = f"/ontologies/{quote(options.name, safe='')}"
    documents = ask("GET", path)["documents"]
    if not options.yes and documents:
        if not sys.stdin.isatty():
            raise ConfigError(f"the ontology {options.name!r} has {documents} documents; --yes deletes them with it")
        if input(f"delete {options.name!r} with its {documents} documents? [y/N] ").strip().lower() not in ("y", "yes"):
            return 1
    ask("DELETE", path, timeout=600)
    say(f"the ontology {options.name!r} is deleted")
    return 0
