"""`kg ingest`: files, folders, addresses and stdin become documents."""

from __future__ import annotations

import argparse
from typing import Any

from kg.cli.bars import Bars
from kg.cli.documents import COLUMNS, Record
from kg.cli.evidence import wrapped
from kg.cli.sending import Sending, Sent
from kg.cli.things import things
from kg.cli.waiting import Waiting
from lanework._words import count
from lanework.cli.output import add_output, show, write
from lanework.cli.text import safe
from lanework.errors import ConfigError

#: Documents that are known by another name: so many are told one by one.
_NAMED = 5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="+", metavar="FILE|DIR|URL|-", help="files, folders with all below them, addresses, or - for stdin"
    )
    parser.add_argument("--ontology", default="default", metavar="NAME", help="made if there is none (default: default)")
    parser.add_argument("--name", help="how lists call it; for a single document")
    parser.add_argument("--estimate", action="store_true", help="only tell what it would cost")
    parser.add_argument("--ask", action="store_true", help="stop for an approval, whatever it costs")
    parser.add_argument("--force", action="store_true", help="do everything again though the content is known")
    parser.add_argument("--no-graph", action="store_true", help="embed into a collection only")
    parser.add_argument("--collection", metavar="NAME", help="which one, with --no-graph (default: named as the ontology)")
    parser.add_argument("--wait", action="store_true", help="show how far they are until all have ended; 1 if not all is completed")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    found = things(options.what)
    if options.name and len(found) > 1:
        raise ConfigError(f"--name is for one document, and there are {len(found)}")
    sending = Sending(found, _fields(options), Bars(silent=options.output != "table"))
    if options.estimate:
        _tell(options.output, [{"name": thing.name, **answer["estimate"]} for thing, answer in sending.in_order()])
        return sending.code
    if options.wait:
        return _take_and_wait(options.output, sending)
    taken = sending.in_order()
    _known(taken, sending.bars)
    show(options.output, _documents(taken), COLUMNS, id_of=lambda it: it["id"])
    return sending.code


def _take_and_wait(form: str, sending: Sending) -> int:
    """The bars of those that are there move while others are still sent."""
    waiting = Waiting(len(sending.things), sending.bars)
    taken = []
    for thing, answer in sending.all(waiting.look):
        waiting.add(answer["document"])
        taken.append((thing, answer))
    _known(taken, sending.bars)
    code = waiting.until_all()
    if form != "table":
        show(form, waiting.ended, COLUMNS, id_of=lambda it: it["id"])
    return code or sending.code


def _documents(taken: list[Sent]) -> list[Record]:
    """Each once, though two files may be one document."""
    return list({one["document"]["id"]: one["document"] for _, one in taken}.values())


def _known(taken: list[Sent], bars: Bars) -> None:
    """How many, and of the first few that are known by another name, which."""
    known = [(thing, one["document"]) for thing, one in taken if one["existing"]]
    others = [(thing.name, one) for thing, one in known if thing.url is None and thing.name != one["name"]]
    if known:
        bars.say("known already" if len(taken) == 1 else f"{len(known):,} of {count(len(taken), 'document')} known already")
    for name, one in others[:_NAMED]:
        bars.say(safe(f"  {name} has the content of {one['name']} (document {one['id']})"))
    if len(others) > _NAMED:
        bars.say(f"  and {len(others) - _NAMED:,} more have that of a document with another name")


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    fields = {
        "ontology": options.ontology, "estimate": options.estimate, "ask": options.ask, "force": options.force,
        "graph": not options.no_graph, "name": options.name, "collection": options.collection,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not None}


def _tell(form: str, estimates: list[dict[str, Any]]) -> None:
    if form != "table":
        show(form, estimates, [], id_of=lambda it: it["name"])
        return
    for one in estimates:
        write(f"{safe(one['name'])}: {_cost(one)}, {count(one['items'], 'chunk')}, {one['tokens']:,} tokens{_time(one)}")
        for warning in one["warnings"]:
            write(*wrapped(f"note: {warning}", "  "))
    if len(estimates) > 1:
        write(f"together: {_cost({key: sum(one[key] for one in estimates) for key in ('low', 'high')})}")


def _cost(estimate: dict[str, Any]) -> str:
    if not estimate["high"]:
        return "free"
    return f"{estimate['low']:.4f} to {estimate['high']:.4f} USD"


def _time(estimate: dict[str, Any]) -> str:
    return "" if estimate["seconds"] is None else f", about {estimate['seconds']:.0f} s"
