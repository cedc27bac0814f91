"""`lanework jobs reject ID… --reason WHY` or by filter: jobs that wait for somebody's yes are cancelled, with the reason."""

from __future__ import annotations

import argparse

from lanework.cli.commands.jobs.deciding import add_choice, ask, chosen, decide, dry_run
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    add_choice(parser)
    parser.add_argument("--reason", required=True, help="kept with the job, for whoever submitted it")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        jobs = chosen(app, options)
        if options.dry_run:
            return dry_run(options, jobs, "rejected")
        if not options.ids and not options.yes:
            ask(len(jobs), "reject", "rejected")
        return decide(options, jobs, lambda job: app.reject(job.id, options.reason, by=who()))
