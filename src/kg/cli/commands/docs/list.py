"""`kg docs list`"""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.documents import COLUMNS
from kg.cli.remote import ask
from lanework.cli.options import names, positive
from lanework.cli.output import add_output, show

_PAGE = 500


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ontology", help="of this one alone")
    parser.add_argument("--status", type=names, metavar="A,B", help="queued, processing, completed, partial, failed, …")
    parser.add_argument("--owner", help="his alone")
    parser.add_argument("--limit", type=positive, default=100, metavar="N", help="at most so many (default: 100)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    show(options.output, list(_found(options)), COLUMNS, id_of=lambda it: it["id"], none="there are no documents")
    return 0


def _found(options: argparse.Namespace) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    filters = {"ontology": options.ontology, "status": options.status, "owner": options.owner, "before": None}
    while len(found) < options.limit:
        page = ask("GET", "/documents", params=_given(filters | {"limit": min(options.limit - len(found), _PAGE)}))
        found += page["documents"]
        if page["next"] is None:
            break
        filters["before"] = page["next"]
    return found


def _given(filters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in filters.items() if value is not None}
