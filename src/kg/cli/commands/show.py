"""`kg show CONCEPT`: its facts with quotes and where they stand, other names, relations."""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.concepts import add_concept, concept_id
from kg.cli.evidence import arrow, number, quoted, wrapped
from kg.cli.remote import ask
from lanework.cli.output import Column, add_output, show, write
from lanework.cli.text import paint, safe

COLUMNS: list[Column[Any]] = []


def configure(parser: argparse.ArgumentParser) -> None:
    add_concept(parser)
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="most facts and relations (default: 10)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    asked = {"limit": options.limit} | ({"ontology": options.ontology} if options.ontology else {})
    found = ask("GET", f"/query/concept/{concept_id(options)}", params=asked)
    if options.output == "table":
        write(*_page(found))
    else:
        show(options.output, [found], COLUMNS, id_of=lambda it: it["id"])
    return 0


def _page(found: Any) -> list[str]:
    kind = f"{safe(found['type'])}, " if found["type"] else ""
    moved = f", formerly {found['moved_from']}" if found["moved_from"] else ""
    measured = {"grounding": found["grounding"], "diversity": found["diversity"]}
    seen = f"seen {found['seen_count']} time{'' if found['seen_count'] == 1 else 's'}"
    counts = [seen, *(f"{name} {number(it)}" for name, it in measured.items() if it is not None)]
    lines = [
        f"{paint(safe(found['label']), 'bold')}  ({kind}{safe(found['ontology'])}, id {found['id']}{moved})",
        *wrapped(found["description"], "  "),
        f"  {', '.join(counts)}",
    ]
    others = [one["form"] for one in found["aliases"] if one["form"] != found["label"]]
    lines += wrapped(f"also: {', '.join(others)}", "  ") if others else []
    if found["facts"]:
        lines += ["", paint("FACTS", "bold"), *(line for one in found["facts"] for line in quoted(one, "  "))]
    if found["relations"]:
        lines += ["", paint("RELATIONS", "bold"), *(line for one in found["relations"] for line in _relation(one))]
    return lines


def _relation(one: Any) -> list[str]:
    leads = arrow(one["type"], outward=one["outward"], direction=one["direction"])
    sure = f"{one['confidence']:.2f}" + ("" if one["tier"] == "precise" else f", {one['tier']}")
    return [
        f"  {leads} {paint(safe(one['other_label']), 'bold')}  ({sure}, id {one['other_id']})",
        *quoted(one["evidence"], "       "),
    ]
