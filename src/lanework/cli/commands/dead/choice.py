"""Which dead letters: groups, or filters; and asking before many of them are touched."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from lanework._words import count
from lanework.cli.commands.jobs.filters import add_filters, filters
from lanework.cli.output import say
from lanework.client import Lanework
from lanework.errors import ConfigError


def add_choice(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("groups", metavar="GROUP", nargs="*", help="as `lanework dead list` shows them")
    parser.add_argument("--dry-run", action="store_true", help="only say how many it would be")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before acting by filter")
    add_filters(parser)


def choices(app: Lanework, options: argparse.Namespace) -> list[dict[str, Any]]:
    """One filter for each act: a group each, or what the filters say."""
    chosen = dead_filters(app, options)
    if options.groups:
        return [{"group": group, **chosen} for group in options.groups]
    if not chosen:
        raise ConfigError("say which dead letters: a GROUP, or a filter such as --type or --error-class")
    return [chosen]


def dead_filters(app: Lanework, options: argparse.Namespace) -> dict[str, Any]:
    chosen = filters(app, options)
    if chosen.pop("status", ["failed"]) != ["failed"]:
        raise ConfigError("--status: dead letters are failed jobs, no others")
    return chosen


def confirmed(app: Lanework, options: argparse.Namespace, chosen: list[dict[str, Any]], act: str) -> bool:
    """False: it was a dry run. Asks only for filters, and only at a terminal."""
    number = sum(app.dead.count(**one) for one in chosen)
    if options.dry_run:
        say(f"{count(number, 'dead letter')} would be {act}; nothing was done")
        return False
    if all("group" in one or "ids" in one for one in chosen) or options.yes:
        return True
    if not sys.stdin.isatty() or not sys.stderr.isatty():
        raise ConfigError(f"{count(number, 'dead letter')} would be {act}; without a terminal to ask at, say --yes or --dry-run")
    sys.stderr.write(f"{count(number, 'dead letter')} will be {act}. Go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise ConfigError("nothing was done")
    return True
