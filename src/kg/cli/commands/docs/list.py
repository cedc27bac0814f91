"""`kg docs list`"""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.documents import COLUMNS
from kg.cli.remote import ask
from lanework.cli.options import names, positive
from lanework.cli.output import add_output, say, show
from lanework.cli.text import safe

_PAGE = 500


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ontology", help="of this one alone")
    parser.add_argument("--status", type=names, metavar="A,B", help="queued, processing, completed, partial, failed, …")
    parser.add_argument("--owner", help="his alone")
    parser.add_argument("--limit", type=positive, default=100, metavar="N", help="at most so many (default: 100)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    found, more = _found(options)
    show(options.output, found, COLUMNS, id_of=lambda it: it["id"], none=_none(options))
    if more and options.output == "table":
        say(f"these are the newest {len(found):,}; --limit N shows more")
    return 0


def _found(options: argparse.Namespace) -> tuple[list[dict[str, Any]], bool]:
    """And whether there may be more."""
    found: list[dict[str, Any]] = []
    filters = {"ontology": options.ontology, "status": options.status, "owner": options.owner, "before": None}
    while len(found) < options.limit:
        page = ask("GET", "/documents", params=_given(filters | {"limit": min(options.limit - len(found), _PAGE)}))
        found += page["documents"]
        if page["next"] is None:
            return found, False
        filters["before"] = page["next"]
    return found, True


def _none(options: argparse.Namespace) -> str:
    """What was asked for, so that a misspelt name shows."""
    status = " or ".join(options.status or ())
    asked = [
        *([f"in {options.ontology!r}"] if options.ontology else []),
        *([f"that are {status}"] if status else []),
        *([f"of {options.owner!r}"] if options.owner else []),
    ]
    return safe(" ".join(["there are no documents", *asked]))


def _given(filters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value is not None}
