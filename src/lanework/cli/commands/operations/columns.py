"""How acts on many jobs are shown, and the question that comes before one."""

from __future__ import annotations

import sys

from lanework._words import count
from lanework.cli.output import Column, as_json, say
from lanework.cli.text import STATUS_COLOURS
from lanework.errors import ConfigError
from lanework.operations import Operation

OPERATIONS: list[Column[Operation]] = [
    Column("ID", lambda it: it.id or "", right=True),
    Column("KIND", lambda it: it.kind),
    Column("STATE", lambda it: it.state, colour=lambda it: STATUS_COLOURS.get(it.state, "")),
    Column("MATCHED", lambda it: it.matched, right=True),
    Column("DONE", lambda it: it.done, right=True),
    Column("SKIPPED", lambda it: it.skipped, right=True),
    Column("BY", lambda it: it.by, flexible=True),
    Column("FILTER", lambda it: as_json(it.filter), flexible=True),
    Column("NOTE", lambda it: it.error or it.reason, flexible=True),
]


def ask(number: int, what: str) -> None:
    """Before many jobs are touched; without a terminal nobody can answer."""
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise ConfigError(f"{count(number, 'job')} would be {what}; without a terminal to ask at, say --yes or --dry-run")
    sys.stderr.write(f"{count(number, 'job')} will be {what}; go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was done")


def sum_up(done: Operation, what: str, beyond: str) -> None:
    match done.state:
        case "dry run":
            say(f"{count(done.matched, 'job')} would be {what}; nothing was done")
        case "done":
            say(f"{count(done.done, 'job')} {what}" + (f", {done.skipped:,} {beyond}" if done.skipped else ""))
        case _:
            say(f"operation {done.id} is {done.state}: {count(done.done, 'job')} {what} so far")
