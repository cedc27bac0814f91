"""Which jobs: the filters of `list` and `cancel`, and reading all that match, page by page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from lanework._application.reads import MOST_LISTED
from lanework._store.status import overview
from lanework.cli.options import moment, names
from lanework.client import Lanework
from lanework.job import JobInfo

_FIELDS = ("status", "type", "lane", "owner", "tag", "error_class")


def add_filters(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("filters")
    group.add_argument(
        "--status",
        type=names,
        metavar="A,B",
        help="pending, awaiting_approval, approved, scheduled, running, completed, failed, cancelled",
    )
    group.add_argument("--type", type=names, metavar="A,B", help="job types")
    group.add_argument("--lane", type=names, metavar="A,B")
    group.add_argument("--owner")
    group.add_argument("--tag")
    group.add_argument("--error-class", metavar="CLASS", help="of failed jobs: transient, timeout, permanent, crash_loop, …")
    group.add_argument("--since", type=moment, metavar="TIME", help="submitted in the last 10m, 2h, 7d, or after a time (ISO)")


def filters(app: Lanework, options: argparse.Namespace) -> dict[str, Any]:
    found = {field: value for field in _FIELDS if (value := getattr(options, field)) is not None}
    if options.since is not None:
        # how long ago is counted by the database's clock, like everything
        ago = isinstance(options.since, timedelta)
        found["created_after"] = app._run(overview()).now - options.since if ago else options.since
    return found


def pages(app: Lanework, chosen: dict[str, Any], *, most: int | None, before: int | None = None) -> Iterator[list[JobInfo]]:
    """Newest first; no page holds more than the engine gives at once."""
    left = most
    while left is None or left > 0:
        size = MOST_LISTED if left is None else min(left, MOST_LISTED)
        page = app.list(**chosen, before=before, limit=size)
        if page:
            yield page
            before = page[-1].id
        if len(page) < size:
            return
        left = None if left is None else left - size
