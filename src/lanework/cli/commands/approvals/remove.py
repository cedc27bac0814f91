"""`lanework approvals remove`: the rule of a type, an owner, both, or all; what code declares holds again."""

from __future__ import annotations

import argparse

from lanework.cli.output import say
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--type", default="*", help="of this job type (default: the rule for all types)")
    parser.add_argument("--owner", default="*", help="of this owner (default: the rule for everybody)")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        removed = app.approvals.remove_rule(type=options.type, owner=options.owner, by=who())
    say("removed" if removed else "there was no such rule")
    return 0 if removed else 1
