"""`lanework jobs wait ID…`: until they have ended. The exit code says how; `-o json` has the results."""

from __future__ import annotations

import argparse
import sys
import time

from lanework.cli.commands.jobs.columns import JOBS
from lanework.cli.options import positive, seconds
from lanework.cli.output import add_output, say, show
from lanework.cli.session import application
from lanework.cli.text import redact
from lanework.client import Lanework
from lanework.errors import JobCancelled, JobFailed, JobNotFinished, LaneworkError
from lanework.job import Handle, JobInfo

#: The first of these that happened gives the exit code.
GRAVITY: tuple[type[LaneworkError], ...] = (JobFailed, JobCancelled, JobNotFinished)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=positive)
    parser.add_argument("--timeout", type=seconds, metavar="TIME", help="at most so long: 30, 10m, 2h (default: for ever)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        for job_id in options.ids:
            app.get(job_id)  # one that does not exist would be waited for for ever
        deadline = None if options.timeout is None else time.monotonic() + options.timeout
        troubles = [trouble for job_id in options.ids if (trouble := _wait(app, job_id, deadline))]
        jobs = [app.get(job_id) for job_id in options.ids]
    _show(options.output, jobs)
    for trouble in troubles:
        say(redact(f"{trouble.code}: {trouble}"))
    return next((kind.exit_code for kind in GRAVITY if any(isinstance(one, kind) for one in troubles)), 0)


def _wait(app: Lanework, job_id: int, deadline: float | None) -> LaneworkError | None:
    left = None if deadline is None else max(deadline - time.monotonic(), 0.0)
    try:
        Handle[object](app, job_id).result(left)
    except GRAVITY as error:
        return error
    return None


def _show(form: str, jobs: list[JobInfo]) -> None:
    show(form, jobs, JOBS, id_of=lambda it: it.id)
    sys.stdout.flush()
