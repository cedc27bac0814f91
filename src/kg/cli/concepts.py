"""A concept as people name it: by its id, or by words that find it."""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.remote import ask
from lanework.cli.output import say
from lanework.cli.text import safe


def add_concept(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("concept", nargs="+", help="its id, or words that find it")
    add_ontology(parser)


def add_ontology(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ontology", metavar="NAME", help="in one ontology alone")


def concept_id(options: argparse.Namespace) -> int:
    """Says which one words were taken for."""
    named = named_by(" ".join(options.concept))
    if isinstance(named, int):
        return named
    found = ask("POST", "/query/resolve", json={"phrase": named, "ontology": options.ontology})
    tell_taken(found)
    return int(found["id"])


def named_by(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdecimal() else text


def tell_taken(found: Any) -> None:
    """A concept that was found by a phrase."""
    if found["phrase"] is not None:
        say(safe(f"{found['phrase']!r} is taken for {found['id']} ({found['label']}, {found['ontology']})"))
