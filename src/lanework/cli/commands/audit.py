"""`lanework audit`: what operators did, newest first."""

from __future__ import annotations

import argparse
from datetime import timedelta

from lanework._store.status import overview
from lanework.audit import AuditEntry
from lanework.cli.options import moment, positive
from lanework.cli.output import Column, add_output, as_json, show
from lanework.cli.session import application


def _value(value: object) -> str:
    return "" if value is None else as_json(value)


COLUMNS: list[Column[AuditEntry]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("AT", lambda it: it.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")),
    Column("ACTOR", lambda it: it.actor, flexible=True),
    Column("ACT", lambda it: it.act),
    Column("TARGET", lambda it: it.target, flexible=True),
    Column("WAS", lambda it: _value(it.before), flexible=True),
    Column("IS", lambda it: _value(it.after), flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--actor", help="who")
    parser.add_argument("--act", help="job.cancel, or job for all acts on jobs")
    parser.add_argument("--target", help="job:17, lane:books, …")
    parser.add_argument("--since", type=moment, metavar="TIME", help="in the last 10m, 2h, 7d, or after a time (ISO)")
    parser.add_argument("-n", "--limit", type=positive, default=50, metavar="N", help="at most so many (default: 50)")
    parser.add_argument("--before", type=positive, metavar="ID", help="only older ones: the last id of a page gives the next")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        since = options.since
        if isinstance(since, timedelta):  # how long ago is counted by the database's clock, like everything
            since = app._run(overview()).now - since
        found = app.audit_log(
            actor=options.actor, act=options.act, target=options.target, since=since, before=options.before, limit=options.limit
        )
    show(options.output, found, COLUMNS, id_of=lambda it: it.id, none="no act matches")
    return 0
