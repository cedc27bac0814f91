"""`lanework schedules show NAME`: all about a schedule, its next times and its last ticks."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lanework.cli.commands.jobs.columns import moment
from lanework.cli.commands.schedules.columns import TICKS, state
from lanework.cli.output import add_output, as_json, plain, show, table, write
from lanework.cli.session import application
from lanework.cli.text import safe
from lanework.schedules import ScheduleInfo, Tick


@dataclass(frozen=True)
class Story:
    schedule: ScheduleInfo
    next: list[datetime]
    history: list[Tick]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        plans = app.schedules
        stories = [Story(plans.get(name), plans.next_times(name), plans.history(name, limit=10)) for name in options.names]
    if options.output == "table":
        for n, story in enumerate(stories):
            write(*([""] if n else []), *_lines(story))
    else:
        show(options.output, stories, [], id_of=lambda it: it.schedule.name, record=_record)
    return 0


def _record(story: Story) -> dict[str, Any]:
    return {**plain(story.schedule), "next": plain(story.next), "history": plain(story.history)}


def _lines(story: Story) -> list[str]:
    it = story.schedule
    facts = {
        "schedule": it.name, "when": it.when, "type": it.type, "state": state(it), "because": it.disabled_because,
        "overlap": it.overlap, "misfire": f"{it.misfire}, after {it.misfire_after:g} s", "jitter": f"{it.jitter:g} s",
        "condition": it.condition, "priority": it.priority, "owner": it.owner, "session": it.session, "tags": ", ".join(it.tags),
        "set by": f"{it.set_by} {it.changed_by}".strip(), "errors": it.errors or "", "last error": it.last_error,
        "arguments": as_json(it.payload),
    }  # fmt: skip
    lines = [f"{name:<12}{safe(str(value))}" for name, value in facts.items() if value not in (None, "")]
    lines += [f"{'next':<12}{safe(when.isoformat(sep=' '))}  ({moment(when)})" for when in story.next]
    return lines + (["", *table(story.history, TICKS)] if story.history else [])
