"""`lanework dead show GROUP`: the group, and its newest job's last traceback."""

from __future__ import annotations

import argparse
from typing import Any

from lanework.cli.commands.jobs.columns import moment
from lanework.cli.output import add_output, plain, show, write
from lanework.cli.session import application
from lanework.cli.text import safe
from lanework.dead import DeadGroup
from lanework.reports import Attempt


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("groups", metavar="GROUP", nargs="+")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = [(group, app.attempts(group.sample)) for group in map(app.dead.get, options.groups)]
    if options.output == "table":
        for n, (group, attempts) in enumerate(found):
            write(*([""] if n else []), *_lines(group, attempts))
    else:
        show(options.output, found, [], id_of=lambda it: it[0].fingerprint, record=_record)
    return 0


def _record(found: tuple[DeadGroup, list[Attempt]]) -> dict[str, Any]:
    group, attempts = found
    return {**plain(group), "sample_attempts": plain(attempts)}


def _lines(group: DeadGroup, attempts: list[Attempt]) -> list[str]:
    facts = {
        "group": group.fingerprint, "jobs": f"{group.count:,}", "type": group.type, "class": group.error_class,
        "code": group.error_code, "rule": group.rule, "first seen": moment(group.first_seen), "last seen": moment(group.last_seen),
        "message": group.message, "sample": f"job {group.sample}: {group.sample_error}",
    }  # fmt: skip
    lines = [f"{name:<12}{safe(str(value))}" for name, value in facts.items() if value not in (None, "")]
    trace = attempts[-1].traceback if attempts else None
    return lines + [f"    {safe(line)}" for line in (trace or "").rstrip().split("\n") if line]
