"""`lanework jobs list`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.jobs.columns import JOBS
from lanework.cli.commands.jobs.filters import add_filters, filters, pages
from lanework.cli.options import positive
from lanework.cli.output import add_output, say, show
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    add_filters(parser)
    parser.add_argument("-n", "--limit", type=positive, default=50, metavar="N", help="at most so many (default: 50)")
    parser.add_argument("-a", "--all", action="store_true", help="no limit")
    parser.add_argument("--before", type=positive, metavar="ID", help="only older ones: the last id of a page gives the next")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    most = None if options.all else options.limit
    with application(options) as app:
        found = pages(app, filters(app, options), most=most, before=options.before)
        if options.output in ("jsonl", "ids"):  # these flow, however many there are
            for page in found:
                show(options.output, page, JOBS, id_of=lambda it: it.id)
            return 0
        jobs = [job for page in found for job in page]
    show(options.output, jobs, JOBS, none="no job matches")
    if options.output == "table" and len(jobs) == most:
        say(f"there may be more: --before {jobs[-1].id}, or --all")
    return 0
