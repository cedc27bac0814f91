"""`lanework jobs reject ID… --reason WHY` or by filter: jobs that wait for somebody's yes are cancelled, with the reason."""

from __future__ import annotations

import argparse
from functools import partial

from lanework.cli.commands.jobs.deciding import LEFT_OUT, chosen, decide, dry_run
from lanework.cli.commands.jobs.many import act, add_many, by_filter
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    add_many(parser, dry_run="only show which it would be, and what they would cost")
    parser.add_argument("--reason", required=True, help="kept with the job, for whoever submitted it")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if options.dry_run:
            return dry_run(options, chosen(app, options), "rejected")
        if not options.ids:
            many = partial(app.reject_many, options.reason)
            return act(app, options, "reject", many, which=by_filter(app, options), what="rejected", beyond=LEFT_OUT)
        return decide(options, chosen(app, options), lambda job: app.reject(job.id, options.reason, by=who()))
