"""The settings of a lane as options. What is not given stays as it is."""

from __future__ import annotations

import argparse
from typing import Any

from lanework.cli.options import names, number_or_none
from lanework.cli.output import add_output

_FIELDS = ("max_slots", "worker_slots", "poll_interval_ms", "stale_timeout_minutes", "job_types", "enabled", "fair")


def add_values(parser: argparse.ArgumentParser) -> None:
    absent = argparse.SUPPRESS
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--max-slots", "--slots", type=number_or_none, default=absent, metavar="N",
        help="jobs at once in the whole cluster, 0 to 10000; none: no such limit",
    )  # fmt: skip
    parser.add_argument(
        "--worker-slots", type=number_or_none, default=absent, metavar="N", help="jobs at once in one process; none: no own limit"
    )
    parser.add_argument("--poll-interval-ms", type=int, default=absent, metavar="MS", help="50 to 120000")
    parser.add_argument("--stale-timeout-minutes", type=int, default=absent, metavar="MIN", help="1 to 1440")
    parser.add_argument("--types", dest="job_types", type=_types, default=absent, metavar="A,B", help="all job types of the lane")
    parser.add_argument(
        "--fair", action=argparse.BooleanOptionalAction, default=absent, help="owners take turns, whatever one of them has queued"
    )
    add_output(parser)


def values(options: argparse.Namespace) -> dict[str, Any]:
    return {field: getattr(options, field) for field in _FIELDS if hasattr(options, field)}


def _types(text: str) -> list[str]:
    return names(text) if text.strip() else []
