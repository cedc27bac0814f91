"""`lanework jobs explain ID…`: why it is not running now, and what would change it."""

from __future__ import annotations

import argparse

from lanework.cli.explaining import show_all
from lanework.cli.options import positive
from lanework.cli.output import add_output
from lanework.cli.session import application


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=positive)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [app.explain(job_id) for job_id in options.ids]
    show_all(options.output, found, lambda it: f"job {it.job_id}, {it.status}", lambda it: it.job_id)
    return 0
