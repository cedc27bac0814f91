"""`kg docs show`"""

from __future__ import annotations

import argparse

from kg.cli.documents import COLUMNS, Record, chunks, size, state, warnings
from kg.cli.evidence import columns, wrapped
from kg.cli.remote import ask
from lanework.cli.options import positive
from lanework.cli.output import add_output, show, write
from lanework.cli.text import clip, safe


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", type=positive, metavar="ID")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    found = ask("GET", f"/documents/{options.document}")
    if options.output != "table":
        show(options.output, [found], COLUMNS, id_of=lambda it: it["id"])
        return 0
    write(*_page(found, _errors(found)))
    return 0


def _errors(document: Record) -> list[Record]:
    if not document["chunks_failed"]:
        return []
    found: list[Record] = ask("GET", f"/jobs/{document['job_id']}/item-errors")
    return found


def _graph(document: Record) -> str:
    """Said only of one without a graph."""
    options = document["options"]
    return "" if options.get("graph", True) else f"none: in the collection {options.get('collection') or document['ontology']}"


def _told(name: str, words: str) -> list[str]:
    """A sentence, in as many lines as it takes."""
    first, *more = wrapped(words, " " * 13) or [""]
    return [f"  {name:<11}{first.lstrip()}", *more] if first else []


def _page(document: Record, errors: list[Record]) -> list[str]:
    facts = [
        ("name", document["name"]), ("title", clip(document["title"], columns() - 13)), ("ontology", document["ontology"]),
        ("graph", _graph(document)), ("status", state(document)),
        ("chunks", chunks(document)), ("version", document["version"]),
        ("type", document["media_type"]), ("size", size(document["size"])), ("characters", document["characters"]),
        ("key", document["key"]), ("owner", document["owner"]), ("job", document["job_id"]), ("since", document["created_at"][:19]),
    ]  # fmt: skip
    lines = [f"document {document['id']}", *(f"  {name:<11}{safe(str(value))}" for name, value in facts if value not in (None, ""))]
    lines += _told("error", document["error"] or "")
    lines += [line for one in warnings(document) for line in _told("warning", one)]
    return [*lines, *(f"  {safe(one['item'])}: {safe(one['error'])}" for one in errors)]
