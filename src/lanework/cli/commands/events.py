"""`lanework events [--follow]`: the last events, or those after a cursor; `--job ID`: one job's life."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from lanework._store.events import before_last
from lanework.cli.options import names, positive
from lanework.cli.output import add_output, as_json, plain, show, write
from lanework.cli.session import application
from lanework.cli.text import STATUS_COLOURS, paint, safe
from lanework.client import Lanework
from lanework.events import Event

SHOWN_JOBS = 6


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-f", "--follow", action="store_true", help="go on; with --job until the job has ended")
    parser.add_argument("--job", type=positive, metavar="ID", help="this job's own events, from its submit on")
    parser.add_argument("--topic", type=names, metavar="A,B", help="job, progress, log, operator, maintenance, schedule, alarm, …")
    parser.add_argument("--kind", type=names, metavar="A,B", help="submitted, started, completed, failed, retried, …")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--after", metavar="CURSOR", help="those after this cursor (0-0: from the oldest that is kept)")
    where.add_argument("-n", "--last", type=positive, default=20, metavar="N", help="begin with the last N (default: 20)")
    add_output(parser, ids=False)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = _events(app, options)
        if options.output == "json" and not options.follow:
            show("json", list(found), [], record=_record)
            return 0
        for event in found:
            write(as_json(plain(_record(event))) if options.output != "table" else _line(event))
            sys.stdout.flush()
    return 0


def _events(app: Lanework, options: argparse.Namespace) -> Iterator[Event]:
    after = options.after
    if after is None and options.job is None:
        after = app._run(before_last(options.last, options.topic, options.kind))
    return app.events(after=after, job=options.job, topics=options.topic, kinds=options.kind, follow=options.follow)


def _record(event: Event) -> dict[str, object]:
    """Jobs that follow each other are said as the first and the last."""
    jobs: dict[str, object] = {"jobs": list(event.jobs)}
    if isinstance(event.jobs, range):
        jobs = {"first_job": event.jobs[0], "last_job": event.jobs[-1]}
    return {"cursor": event.cursor, "at": event.at, "topic": event.topic, "kind": event.kind, **jobs, "data": event.data}


def _line(event: Event) -> str:
    clock = event.at.astimezone().strftime("%H:%M:%S.%f")[:-3]
    head = paint(f"{clock} {safe(event.topic):<11}", "dim")
    kind = paint(f"{safe(event.kind):<10}", STATUS_COLOURS.get(event.kind, ""))
    return f"{head} {kind} {_jobs(event.jobs)} {_said(event)}".rstrip()


def _jobs(jobs: Sequence[int]) -> str:
    if isinstance(jobs, range):
        return f"{jobs[0]}…{jobs[-1]} ({len(jobs)} jobs)"
    shown = " ".join(map(str, jobs[:SHOWN_JOBS]))
    return f"{shown} … ({len(jobs)} jobs)" if len(jobs) > SHOWN_JOBS else shown


def _said(event: Event) -> str:
    if event.kind == "line":
        return safe(str(event.data.get("text", "")).rstrip("\n"))
    if event.kind == "lines":
        return safe(" | ".join(str(line["text"]).rstrip("\n") for line in event.data["lines"]))
    return safe(" ".join(f"{name}={value if isinstance(value, str) else as_json(value)}" for name, value in event.data.items()))
