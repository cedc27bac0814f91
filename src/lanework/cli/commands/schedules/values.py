"""The values of a schedule as options. What is not given stays as it is."""

from __future__ import annotations

import argparse
import json
from typing import Any

from lanework.cli.options import names, seconds
from lanework.cli.output import add_output

_FIELDS = (
    "cron", "every", "tz", "jitter", "overlap", "misfire", "misfire_after", "condition", "payload", "priority",
    "owner", "session", "tags",
)  # fmt: skip


def add_values(parser: argparse.ArgumentParser) -> None:
    absent = argparse.SUPPRESS

    def option(name: str, metavar: str, help: str, type: Any = str) -> None:
        parser.add_argument(name, metavar=metavar, help=help, type=type, default=absent)

    option("--cron", "FIELDS", "5 fields, or 6 with seconds first, by the wall clock of the zone")
    option("--every", "DURATION", "instead of --cron: like 30s, 10m or 2h", seconds)
    option("--tz", "ZONE", "like Europe/Zurich (default: UTC)")
    option("--jitter", "DURATION", "start up to so much later", seconds)
    option("--overlap", "POLICY", "while a job of it has not ended: skip, queue or cancel (default: skip)")
    option("--misfire", "POLICY", "ticks that nobody fired in time: skip, one or all (default: one)")
    option("--misfire-after", "DURATION", "how late a tick counts as missed (default: 60s)", seconds)
    option("--condition", "NAME", "a condition that the application declares; none: without", _or_none)
    option("--payload", "JSON", "the job's arguments, as an object", _object)
    option("--priority", "N", "-1000 to 1000, higher first", int)
    option("--owner", "NAME", "whose jobs they are", _or_none)
    option("--session", "KEY", "jobs of one session run one at a time", _or_none)
    option("--tags", "A,B", "tags of its jobs", names)
    add_output(parser)


def values(options: argparse.Namespace) -> dict[str, Any]:
    return {field: getattr(options, field) for field in _FIELDS if hasattr(options, field)}


def _or_none(text: str) -> str | None:
    return None if text.lower() == "none" else text


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"expected a JSON object, got {text!r}: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, got {text!r}")
    return found
