"""`kg related`: what is around a concept."""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.concepts import add_concept, concept_id
from kg.cli.remote import ask
from lanework.cli.options import names
from lanework.cli.output import Column, add_output, say, show

COLUMNS: list[Column[Any]] = [
    Column("HOPS", lambda it: it["hops"], right=True),
    Column("ID", lambda it: it["id"], right=True),
    Column("CONCEPT", lambda it: it["label"], flexible=True),
    Column("WEIGHT", lambda it: f"{it['weight']:.2f}", right=True),
    Column("BY", lambda it: it["by"], flexible=True),
]
WHY = {"nodes": "there is more: raise --nodes", "time": "the time was up before all was read: raise --seconds"}


def configure(parser: argparse.ArgumentParser) -> None:
    add_concept(parser)
    parser.add_argument("--hops", type=int, default=1, metavar="N", help="(default: 1)")
    parser.add_argument("--nodes", type=int, default=50, metavar="N", help="most concepts (default: 50)")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S", help="most time (default: 5)")
    parser.add_argument("--precise", action="store_true", help="without relations of the weak tier")
    parser.add_argument("--types", type=names, metavar="A,B", help="relations of these types alone")
    parser.add_argument("--direction", choices=("both", "out", "in"), default="both", help="(default: both)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    body = {
        "concept": concept_id(options), "ontology": options.ontology, "hops": options.hops, "nodes": options.nodes,
        "seconds": options.seconds,
        "direction": options.direction, "tier": "precise" if options.precise else None,
        "types": [one.upper() for one in options.types] if options.types else None,
    }  # fmt: skip
    found = ask("POST", "/query/related", json=body)
    if options.output == "json":
        show("json", [found], COLUMNS)
        return 0
    known = {one["id"]: one for one in [found["concept"], *found["nodes"]]}
    nodes = [one | {"by": _by(one, found["edges"], known)} for one in found["nodes"]]
    show(options.output, nodes, COLUMNS, id_of=lambda it: it["id"], none=f"nothing is related to {found['concept']['label']!r}")
    if found["partial"] and options.output == "table":
        say(WHY[found["partial"]])
    return 0


def _by(node: Any, edges: list[Any], known: dict[int, Any]) -> str:
    """The surest relation to something nearer."""
    for edge in edges:
        for here, other, arrow in ((edge["to_id"], edge["from_id"], "→"), (edge["from_id"], edge["to_id"], "←")):
            if here == node["id"] and known[other]["hops"] < node["hops"]:
                return f"{known[other]['label']} {'–' if edge['direction'] == 'both' else arrow} {edge['type']}"
    return ""
