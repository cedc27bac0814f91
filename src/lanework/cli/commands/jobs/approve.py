"""`lanework jobs approve ID…` or by filter: lets jobs go that wait for somebody's yes. What is approved is what was just read."""

from __future__ import annotations

import argparse

from lanework.cli.commands.jobs.deciding import add_choice, ask, chosen, decide, dry_run
from lanework.cli.options import amount
from lanework.cli.session import application, who
from lanework.errors import ConfigError
from lanework.job import JobInfo


def configure(parser: argparse.ArgumentParser) -> None:
    add_choice(parser)
    parser.add_argument("--limit", type=amount, metavar="SUM", help="up to this sum, for each job")
    parser.add_argument("--hash", help="of the one job as you saw it (default: as it is now)")


def run(options: argparse.Namespace) -> int:
    if options.hash and len(options.ids) != 1:
        raise ConfigError("--hash is of one job: name it, and it alone")
    with application(options) as app:
        jobs = chosen(app, options)
        if options.dry_run:
            return dry_run(options, jobs, "approved")
        if not options.ids and not options.yes:
            ask(len(jobs), "approve", "approved")

        def approve(job: JobInfo) -> str:
            return app.approve(job.id, hash=options.hash or job.hash, limit=options.limit, by=who())

        return decide(options, jobs, approve)
