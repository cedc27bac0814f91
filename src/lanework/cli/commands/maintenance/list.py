"""`lanework maintenance list`: the engine's own housekeeping, and the application's."""

from __future__ import annotations

import argparse

from lanework._words import age
from lanework.cli.commands.jobs.columns import moment
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application
from lanework.maintenance import TaskInfo

TASKS: list[Column[TaskInfo]] = [
    Column("TASK", lambda it: it.name, flexible=True),
    Column("WHEN", lambda it: f"{it.cron} ({it.tz})" if it.cron else f"every {age(it.every)}", flexible=True),
    Column("STATE", lambda it: "running" if it.running else "on" if it.enabled else "off"),
    Column("NEXT", lambda it: moment(it.next_at) if it.enabled else ""),
    Column("LAST", lambda it: it.last_outcome or "", colour=lambda it: "" if it.last_outcome in (None, "ok", "skipped") else "red"),
    Column("", lambda it: it.last_error or it.description, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = app.maintenance.list()
    show(options.output, found, TASKS, id_of=lambda it: it.name)
    return 0
