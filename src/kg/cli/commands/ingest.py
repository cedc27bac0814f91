"""`kg ingest`: files, folders, addresses and stdin become documents."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kg.cli.documents import COLUMNS
from kg.cli.remote import ask
from kg.cli.waiting import wait_for
from kg.documents.parsers import suffixes
from kg.errors import KgError, ServerAway, TooMany
from lanework._words import count
from lanework.cli.output import add_output, say, show, write
from lanework.errors import ConfigError

_ADDRESSES = ("http://", "https://")
_UPLOAD_S = 300.0


@dataclass(frozen=True)
class Thing:
    """One document to be: its bytes, or an address that the server fetches it from."""

    name: str
    path: Path | None = None
    url: str | None = None

    @contextmanager
    def request(self, fields: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self.url is not None:
            yield {"json": {**fields, "url": self.url}}
            return
        key = {} if self.path is None else {"key": f"file:{self.path}"[:2000]}
        form = {name: str(value).lower() if isinstance(value, bool) else value for name, value in (fields | key).items()}
        if self.path is None:
            yield {"files": {"file": (self.name, _stdin())}, "data": form}
            return
        with self.path.open("rb") as file:  # sent as it is read: however large it is, the server says whether it takes it
            yield {"files": {"file": (self.name, file)}, "data": form}


@cache
def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="+", metavar="FILE|DIR|URL|-", help="files, folders with all below them, addresses, or - for stdin"
    )
    parser.add_argument("--ontology", default="default", help="made if there is none (default: default)")
    parser.add_argument("--name", help="how lists call it; for a single document")
    parser.add_argument("--estimate", action="store_true", help="only tell what it would cost")
    parser.add_argument("--ask", action="store_true", help="stop for an approval, whatever it costs")
    parser.add_argument("--force", action="store_true", help="do everything again though the content is known")
    parser.add_argument("--no-graph", action="store_true", help="embed into a collection only")
    parser.add_argument("--collection", help="which one, with --no-graph (default: named as the ontology)")
    parser.add_argument("--wait", action="store_true", help="show how far they are until all have ended; 1 if not all is completed")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    things = list(_things(options.what))
    if not things:
        raise ConfigError(f"there is nothing to read in {', '.join(options.what)}; read are {', '.join(sorted(suffixes()))}")
    if options.name and len(things) > 1:
        raise ConfigError(f"--name is for one document, and there are {len(things)}")
    fields = _fields(options)
    answers, refused = [], 0
    for thing in things:
        try:
            answers.append((thing, _send(thing, fields)))
        except ServerAway:
            raise
        except (KgError, OSError) as error:
            if len(things) == 1:
                raise
            refused += 1
            say(f"{thing.name}: {error}")
    if options.estimate:
        return _tell(options, answers) or min(refused, 1)
    return _after(options, [answer for _, answer in answers]) or min(refused, 1)


def _after(options: argparse.Namespace, taken: list[dict[str, Any]]) -> int:
    known = sum(one["existing"] for one in taken)
    if known:
        say(f"{count(known, 'document')} of {len(taken)} known already")
    documents = list({one["document"]["id"]: one["document"] for one in taken}.values())
    if options.wait and options.output == "table":
        return wait_for(documents)
    show(options.output, documents, COLUMNS, id_of=lambda it: it["id"])
    return 0


def _fields(options: argparse.Namespace) -> dict[str, Any]:
    fields = {
        "ontology": options.ontology, "estimate": options.estimate, "ask": options.ask, "force": options.force,
        "graph": not options.no_graph,
    }  # fmt: skip
    return (
        fields
        | ({"name": options.name} if options.name else {})
        | ({"collection": options.collection} if options.collection else {})
    )


def _send(thing: Thing, fields: dict[str, Any]) -> dict[str, Any]:
    while True:
        try:
            with thing.request(fields) as request:
                found: dict[str, Any] = ask("POST", "/ingest", timeout=_UPLOAD_S, **request)
            return found
        except TooMany as error:  # as fast as the server lets us
            time.sleep(error.retry_after)


def _things(words: list[str]) -> Iterator[Thing]:
    for word in words:
        if word == "-":
            yield Thing("stdin")
        elif word.lower().startswith(_ADDRESSES):
            yield Thing(word, url=word)
        else:
            yield from _files(Path(word))


def _files(path: Path) -> Iterator[Thing]:
    """A file as it is named; of a folder all that can be read, hidden ones left out."""
    if not path.exists():
        raise ConfigError(f"there is no file or folder {str(path)!r}")
    if not path.is_dir():
        yield Thing(path.name, path.resolve())
        return
    for one in sorted(path.rglob("*")):
        hidden = any(part.startswith(".") for part in one.relative_to(path).parts)
        if one.is_file() and not hidden and one.suffix.lower() in suffixes():
            yield Thing(one.name, one.resolve())


def _tell(options: argparse.Namespace, answers: list[tuple[Thing, dict[str, Any]]]) -> int:
    estimates = [{"name": thing.name, **answer["estimate"]} for thing, answer in answers]
    if options.output != "table":
        show(options.output, estimates, [], id_of=lambda it: it["name"])
        return 0
    for one in estimates:
        write(f"{one['name']}: {_cost(one)}, {count(one['items'], 'chunk')}, {one['tokens']:,} tokens{_time(one)}")
        for warning in one["warnings"]:
            write(f"  note: {warning}")
    if len(estimates) > 1:
        write(f"together: {_cost({key: sum(one[key] for one in estimates) for key in ('low', 'high')})}")
    return 0


def _cost(estimate: dict[str, Any]) -> str:
    if not estimate["high"]:
        return "free"
    return f"{estimate['low']:.4f} to {estimate['high']:.4f} USD"


def _time(estimate: dict[str, Any]) -> str:
    return "" if estimate["seconds"] is None else f", about {estimate['seconds']:.0f} s"
