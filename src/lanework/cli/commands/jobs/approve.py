"""`lanework jobs approve ID…` or by filter: lets jobs go that wait for somebody's yes. What is approved is what was just read, or
has waited since before anything was shown."""

from __future__ import annotations

import argparse
from functools import partial

from lanework._store.status import overview
from lanework.cli.commands.jobs.deciding import LEFT_OUT, chosen, decide, dry_run
from lanework.cli.commands.jobs.many import act, add_many, by_filter
from lanework.cli.options import amount
from lanework.cli.session import application, who
from lanework.errors import ConfigError
from lanework.job import JobInfo


def configure(parser: argparse.ArgumentParser) -> None:
    add_many(parser, dry_run="only show which it would be, and what they would cost")
    parser.add_argument("--limit", type=amount, metavar="SUM", help="up to this sum, for each job")
    parser.add_argument("--hash", help="of the one job as you saw it (default: as it is now)")


def run(options: argparse.Namespace) -> int:
    if options.hash and len(options.ids) != 1:
        raise ConfigError("--hash is of one job: name it, and it alone")
    with application(options) as app:
        if options.dry_run:
            return dry_run(options, chosen(app, options), "approved")
        if not options.ids:
            many = partial(app.approve_many, limit=options.limit, seen_at=app._run(overview()).now)
            return act(app, options, "approve", many, which=by_filter(app, options), what="approved", beyond=LEFT_OUT)

        def approve(job: JobInfo) -> str:
            return app.approve(job.id, hash=options.hash or job.hash, limit=options.limit, by=who())

        return decide(options, chosen(app, options), approve)
