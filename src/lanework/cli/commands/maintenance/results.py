"""`lanework maintenance results [TASK]`: recent runs, newest first."""

from __future__ import annotations

import argparse

from lanework.cli.commands.jobs.columns import moment
from lanework.cli.options import positive
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application
from lanework.maintenance import TaskRun

RUNS: list[Column[TaskRun]] = [
    Column("RUN", lambda it: it.id, right=True),
    Column("TASK", lambda it: it.task, flexible=True),
    Column("STARTED", lambda it: moment(it.started_at)),
    Column("TOOK", lambda it: "" if it.seconds is None else f"{it.seconds:.1f} s", right=True),
    Column("OUTCOME", lambda it: it.outcome, colour=lambda it: "" if it.outcome in ("ok", "running", "skipped") else "red"),
    Column("DID", lambda it: it.error or ", ".join(f"{what} {number}" for what, number in it.counts.items()), flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="TASK", nargs="?", help="only of this one (default: all)")
    parser.add_argument("-n", "--limit", type=positive, default=20, help="(default: 20)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if options.name:
            app.maintenance.get(options.name)
        found = app.maintenance.results(options.name, limit=options.limit)
    show(options.output, found, RUNS, id_of=lambda it: it.id, none="nothing has run yet; is a worker running?")
    return 0
