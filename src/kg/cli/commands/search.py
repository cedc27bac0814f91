"""`kg search`: concepts, or passages, by meaning and by words."""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.evidence import columns, number, paragraphs, place, quoted
from kg.cli.remote import ask
from lanework.cli.output import Column, add_output, say, show, table, write
from lanework.cli.text import clip, paint, safe, width

COLUMNS: list[Column[Any]] = [
    Column("ID", lambda it: it["id"], right=True),
    Column("CONCEPT", lambda it: it["label"], flexible=True),
    Column("ONTOLOGY", lambda it: it["ontology"], flexible=True),
    Column("SEEN", lambda it: it["seen_count"], right=True),
    Column("GROUNDED", lambda it: number(it["grounding"]), right=True),
    Column("SCORE", lambda it: f"{it['score']:.3f}", right=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", help="words, or a question")
    parser.add_argument(
        "--mode",
        choices=("hybrid", "semantic", "text", "graph"),
        help="(default: hybrid, for passages graph); graph is for passages",
    )
    parser.add_argument("--ontology", metavar="NAME", help="in one ontology alone")
    parser.add_argument("--passages", action="store_true", help="passages of documents instead of concepts")
    parser.add_argument("--collection", metavar="NAME", help="passages of documents without a graph, of this collection alone")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="(default: 10)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    passages = options.passages or options.collection is not None
    what = "passages" if passages else "concepts"
    asked = {"mode": options.mode, "ontology": options.ontology, "collection": options.collection}
    body = {"query": " ".join(options.query), "what": what, "limit": options.limit} | {
        key: one for key, one in asked.items() if one
    }
    found = ask("POST", "/query/search", json=body)[what]
    if not passages and found and not any(one["like"] for one in found):
        say("nothing has these words or is near in meaning; the nearest, however far, are:")
    if options.output == "table" and found:
        write(*(_passages(found) if passages else _concepts(found)))
    else:
        show(options.output, found, COLUMNS, id_of=lambda it: it["id"], none=_none(passages))
    return 0


def _none(passages: bool) -> str:
    return f"nothing was found; try other words{'' if passages else ', or --passages'}"


def _concepts(found: list[Any]) -> list[str]:
    """A line each, and under it what it stands on."""
    head, *lines = table(found, COLUMNS)
    told = [head]
    for line, hit in zip(lines, found, strict=True):
        told += [line, *quoted(hit["evidence"])]
    return told


def _passages(found: list[Any]) -> list[str]:
    told: list[str] = []
    for one in found:
        where = one["ontology"] if one["collection"] is None else f"{one['ontology']}, no graph: {one['collection']}"
        more = f"  ({clip(safe(where), columns() // 2)}, {one['score']:.3f})"
        head = paint(clip(place(one), columns() - width(more)), "bold") + more
        told += ([""] if told else []) + [head, *paragraphs(one["text"], "  ")]
    return told
