"""`lanework dead list`: groups of the same error; `--jobs` for the jobs themselves."""

from __future__ import annotations

import argparse

from lanework.cli.commands.dead.choice import dead_filters
from lanework.cli.commands.dead.columns import GROUPS
from lanework.cli.commands.jobs.columns import JOBS
from lanework.cli.commands.jobs.filters import add_filters
from lanework.cli.options import positive
from lanework.cli.output import add_output, say, show
from lanework.cli.session import application
from lanework.client import Lanework
from lanework.errors import ConfigError

_OF_GROUPS = {"type", "error_class"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("group", metavar="GROUP", nargs="?", help="only this one")
    parser.add_argument("--jobs", action="store_true", help="the jobs, in the order in which they died")
    parser.add_argument("-n", "--limit", type=positive, default=50, metavar="N", help="at most so many (default: 50)")
    parser.add_argument("--after", type=positive, metavar="ID", help="with --jobs: the last id of a page gives the next")
    add_filters(parser)
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        return _jobs(app, options) if options.jobs else _groups(app, options)


def _groups(app: Lanework, options: argparse.Namespace) -> int:
    chosen = dead_filters(app, options)
    if unfit := chosen.keys() - _OF_GROUPS:
        raise ConfigError(f"--{min(unfit).replace('_', '-')}: groups are chosen by --type and --error-class; for jobs say --jobs")
    found = [app.dead.get(options.group)] if options.group else app.dead.groups(**chosen, limit=options.limit)
    show(options.output, found, GROUPS, id_of=lambda it: it.fingerprint, none="no dead letters")
    return 0


def _jobs(app: Lanework, options: argparse.Namespace) -> int:
    found = app.dead.list(options.group, after=options.after, limit=options.limit, **dead_filters(app, options))
    show(options.output, found, JOBS, id_of=lambda it: it.id, none="no dead letters")
    if options.output == "table" and len(found) == options.limit:
        say(f"there may be more: --after {found[-1].id}")
    return 0
