"""What the acts on jobs share when they come with a filter: which jobs, asking first, and the operation that carries it out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from lanework.cli.commands.jobs.filters import add_filters, filters
from lanework.cli.commands.operations.columns import OPERATIONS, ask, sum_up
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import who
from lanework.client import Lanework
from lanework.errors import ConfigError
from lanework.operations import Operation


def add_many(parser: argparse.ArgumentParser, *, dry_run: str = "only say how many it would be") -> None:
    parser.add_argument("ids", metavar="ID", nargs="*", type=positive)
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before acting by filter")
    add_filters(parser)
    add_output(parser)


def by_filter(app: Lanework, options: argparse.Namespace) -> dict[str, Any]:
    chosen = filters(app, options)
    if not chosen:
        raise ConfigError("say which jobs: ids, or a filter such as --lane or --type")
    return chosen


def act(
    app: Lanework, options: argparse.Namespace, kind: str, carry: Callable[..., Operation],
    *, which: dict[str, Any], what: str, beyond: str = "had ended before",
) -> int:  # fmt: skip
    """`carry` is the application's verb for many, `what` is what becomes of them, `beyond` what kept the others from it."""
    if not (options.dry_run or options.yes or options.ids):
        ask(app.operations.count(kind, which), what)
    done = carry(**which, by=who(), dry_run=options.dry_run)
    show(options.output, [done] if done.id or options.output != "ids" else [], OPERATIONS, id_of=lambda it: it.id)
    sum_up(done, what, beyond)
    return 0
