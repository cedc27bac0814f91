"""`lanework jobs show ID`: everything about a job, its arguments, result and every attempt that did not succeed."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from lanework.cli.commands.jobs.columns import moment, state, took
from lanework.cli.options import positive
from lanework.cli.output import add_output, as_json, plain, show, write
from lanework.cli.session import application
from lanework.cli.text import STATUS_COLOURS, bar, paint, safe
from lanework.client import Lanework
from lanework.estimates import Actual, Estimate
from lanework.explanations import Explanation
from lanework.job import JobInfo
from lanework.reports import Attempt

WAITING = ("pending", "awaiting_approval", "scheduled", "blocked", "approved")
#: How an attempt ended, in words.
OUTCOMES = {"retry": "error", "fail": "error", "release": "given back", "snooze": "snoozed"}


@dataclass(frozen=True)
class Story:
    job: JobInfo
    attempts: list[Attempt]
    why: Explanation | None


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", type=positive)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        stories = [_story(app, job_id) for job_id in options.ids]
    if options.output == "table":
        for n, story in enumerate(stories):
            write(*([""] if n else []), *_lines(story))
    else:
        show(options.output, stories, [], id_of=lambda it: it.job.id, record=_record)
    return 0


def _story(app: Lanework, job_id: int) -> Story:
    job = app.get(job_id)
    return Story(job, app.attempts(job_id), app.explain(job_id) if job.status in WAITING else None)


def _record(story: Story) -> dict[str, Any]:
    return {**plain(story.job), "attempts": plain(story.attempts), "explanation": plain(story.why)}


def _lines(story: Story) -> list[str]:
    job = story.job
    facts = {
        "job": f"{job.id}  {job.type}", "status": state(job),
        "why": story.why.text if story.why else "", "lane": job.lane, "priority": job.priority, "owner": job.owner,
        "tags": ", ".join(job.tags), "submitted": moment(job.created_at), "due": moment(job.run_at),
        "started": moment(job.claimed_at), "ended": moment(job.finished_at), "took": took(job),
        "must end by": moment(job.deadline), "attempt": job.attempt or "",
        "tries": f"{job.tries_used} of {job.max_tries} used", "worker": job.worker_id,
        **_money(job),
        "progress": f"{bar(job.progress)} {job.progress_message}".strip(), "parent": job.parent, "error class": job.error_class,
        "error": f"{job.error_code or ''} {job.error or ''}".strip(),
    }  # fmt: skip
    lines = [_fact(name, safe(str(value)), job) for name, value in facts.items() if value not in (None, "")]
    lines += ["arguments", *_indented(as_json(job.payload, indent=2))]
    if job.status == "completed":
        lines += ["result", *_indented(as_json(job.result, indent=2))]
    return lines + [line for attempt in story.attempts for line in _attempt(attempt)]


def _money(job: JobInfo) -> dict[str, Any]:
    """Estimate and actual, one below the other; and who has approved what."""
    estimate, actual, approval, asked = job.estimate, job.actual, job.approval, job.approval_request
    facts: dict[str, Any] = {}
    if asked is not None:
        facts |= {"waits for": f"an approval, until {moment(asked.expires_at)}: {asked.why}"}
    if asked is not None or approval is not None:
        facts |= {"hash": job.hash}
    if approval is not None:
        limit = "" if approval.limit is None else f", up to {approval.limit:,.2f}"
        facts |= {"approved": f"by {approval.by}, {moment(approval.at)}{limit}"}
    if estimate is not None:
        sum = "cost not known" if estimate.high is None else f"{estimate.low or 0:,.2f} to {estimate.high:,.2f} {estimate.currency}"
        facts |= {"estimate": _amounts(sum, estimate), "warnings": "; ".join(estimate.warnings)}
    if actual is not None:
        facts |= {"actual": _amounts(f"{actual.cost:,.2f} {actual.currency}", actual)}
    return facts


def _amounts(sum: str, it: Estimate | Actual) -> str:
    parts = {"tokens": it.tokens, "items": it.items, "s": None if it.seconds is None else round(it.seconds, 1)}
    return ", ".join([sum, *(f"{value:,} {unit}" for unit, value in parts.items() if value)])


def _fact(name: str, value: str, job: JobInfo) -> str:
    colour = STATUS_COLOURS.get(job.status, "") if name in ("status", "error") else ""
    return f"{name:<12}{paint(value, colour)}"


def _attempt(attempt: Attempt) -> list[str]:
    how = " ".join(filter(None, (OUTCOMES.get(attempt.outcome, attempt.outcome), attempt.error_class)))
    lines = [paint(safe(f"attempt {attempt.attempt}: {how}, {moment(attempt.ended_at)}"), "bold")]
    lines += _indented(attempt.error or "")
    if attempt.cause and attempt.cause != attempt.error:
        lines += _indented(f"cause: {attempt.cause}")
    return lines + _indented(attempt.traceback or "")


def _indented(text: str) -> list[str]:
    return [f"    {safe(line)}" for line in text.rstrip().split("\n") if line]
