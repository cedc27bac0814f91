"""`kg path A B`: how two concepts are connected, with the evidence of each step."""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.concepts import add_ontology, named_by, tell_taken
from kg.cli.evidence import arrow, quoted
from kg.cli.remote import ask
from lanework.cli.output import Column, add_output, say, show, write
from lanework.cli.text import paint, safe

COLUMNS: list[Column[Any]] = []


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("start", metavar="A", help="a concept's id, or words in quotes that find it")
    parser.add_argument("end", metavar="B", help="the other one")
    parser.add_argument("-k", type=int, default=3, metavar="N", help="most paths (default: 3)")
    parser.add_argument("--hops", type=int, default=4, metavar="N", help="longest path (default: 4)")
    parser.add_argument("--precise", action="store_true", help="without relations of the weak tier")
    add_ontology(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    body = {"start": named_by(options.start), "end": named_by(options.end), "k": options.k, "max_hops": options.hops}
    more = {"tier": "precise" if options.precise else None, "ontology": options.ontology}
    found = ask("POST", "/query/connect", json=body | more)
    if options.output == "table":
        _tell(found, options.hops)
    elif options.output == "ids":
        write(*(" ".join(str(stop["id"]) for stop in path["stops"]) for path in found["paths"]))
    else:
        show(options.output, [found] if options.output == "json" else found["paths"], COLUMNS)
    return 0


def _tell(found: Any, hops: int) -> None:
    for end in (found["start"], found["end"]):
        tell_taken(end)
    for number, path in enumerate(found["paths"]):
        write(*([""] if number else []), *_path(path))
    if not found["paths"]:
        more = "; where many relations meet, only the surest were followed" if found["bounded"] else ""
        say(f"no path of at most {hops} steps was found{more}")
    if found["late"]:
        say("the time was up before all was read")


def _path(path: Any) -> list[str]:
    steps = "1 step" if len(path["steps"]) == 1 else f"{len(path['steps'])} steps"
    lines = [paint(safe(path["stops"][0]["label"]), "bold") + f"  ({steps}, confidence {path['confidence']:.2f})"]
    for step, stop in zip(path["steps"], path["stops"][1:], strict=True):
        leads = arrow(step["type"], outward=step["forward"], direction=step["direction"])
        weak = "" if step["tier"] == "precise" else f" ({step['tier']})"
        lines += [f"  {leads} {paint(safe(stop['label']), 'bold')}{weak}", *quoted(step["evidence"], "       ")]
    return lines
