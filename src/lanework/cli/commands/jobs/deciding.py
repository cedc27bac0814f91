"""What `approve` and `reject` share: which jobs, what they would cost, and what became of each."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from lanework._words import count
from lanework.cli.commands.jobs.columns import cost, note
from lanework.cli.commands.jobs.filters import pages
from lanework.cli.commands.jobs.many import by_filter
from lanework.cli.output import Column, say, show
from lanework.cli.text import STATUS_COLOURS, redact
from lanework.client import Lanework
from lanework.errors import JobNotFound, LaneworkError
from lanework.job import JobInfo

WAITING = ["awaiting_approval"]
LEFT_OUT = "left out: changed since, or not for you to approve"

#: What is shown of jobs before somebody decides about them.
REQUESTS: list[Column[JobInfo]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("OWNER", lambda it: it.owner, flexible=True),
    Column("STATUS", lambda it: it.status, colour=lambda it: STATUS_COLOURS.get(it.status, "")),
    Column("ESTIMATE", cost, right=True),
    Column("HASH", lambda it: it.hash),
    Column("WHY", note, flexible=True),
]


@dataclass(frozen=True)
class Answer:
    id: int
    answer: str


ANSWERS: list[Column[Answer]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("ANSWER", lambda it: it.answer, colour=lambda it: STATUS_COLOURS.get(it.answer, ""), flexible=True),
]


def chosen(app: Lanework, options: argparse.Namespace) -> list[JobInfo]:
    """The jobs as they are now: an approval is for what was seen here."""
    if options.ids:
        return [app.get(job_id) for job_id in options.ids]
    wanted = by_filter(app, options)
    wanted.setdefault("status", WAITING)
    return [job for page in pages(app, wanted, most=None) for job in page if not job.finished]


def dry_run(options: argparse.Namespace, jobs: list[JobInfo], done: str) -> int:
    show(options.output, jobs, REQUESTS, id_of=lambda it: it.id)
    live = [job for job in jobs if job.status in WAITING]
    say(f"{count(len(live), 'job')} would be {done}{_sum(live)}; nothing was done")
    return 0


def _sum(jobs: Iterable[JobInfo]) -> str:
    sums: Counter[str] = Counter()
    for job in jobs:
        if job.estimate is not None and job.estimate.high is not None:
            sums[job.estimate.currency] += job.estimate.high  # type: ignore[assignment]  # a Counter adds what it is given
    return "".join(f", up to {amount:,.2f} {currency}" for currency, amount in sorted(sums.items()))


def decide(options: argparse.Namespace, jobs: list[JobInfo], act: Callable[[JobInfo], str]) -> int:
    """One commit each. Of several, one that is refused does not stop the others; its code is the exit code."""
    refusals: list[LaneworkError] = []

    def answers() -> Iterator[Answer]:
        for job in jobs:
            try:
                yield Answer(job.id, act(job))
            except LaneworkError as error:
                if len(jobs) == 1:
                    raise
                refusals.append(error)
                yield Answer(job.id, redact(f"{error.code}: {error}"))

    found = list(answers())
    show(options.output, found, ANSWERS, id_of=lambda it: it.id, none="no job matches")
    if len(found) > 1:
        say(f"{len(found) - len(refusals):,} of {len(found):,} done")
    missing = [error for error in refusals if isinstance(error, JobNotFound)]
    return (missing or refusals)[0].exit_code if refusals else 0
