"""`lanework approvals set always|never|SUM`: the rule of a type, an owner, both, or all."""

from __future__ import annotations

import argparse

from lanework.approvals import Above
from lanework.cli.options import amount
from lanework.cli.output import say
from lanework.cli.session import application, who


def word_or_sum(text: str) -> str | float:
    return text if text in ("always", "never") else amount(text)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policy", metavar="POLICY", type=word_or_sum, help="always, never, or above a sum: 12.50")
    parser.add_argument("--type", default="*", help="a job type (default: all)")
    parser.add_argument("--owner", default="*", help="whose jobs (default: everybody's)")
    parser.add_argument("--currency", default="USD", help="of the sum (default: USD)")
    parser.add_argument("--four-eyes", action=argparse.BooleanOptionalAction, help="approved by another than the owner")


def run(options: argparse.Namespace) -> int:
    policy = Above(options.policy, options.currency) if isinstance(options.policy, float) else options.policy
    with application(options) as app:
        app.approvals.set_rule(policy, type=options.type, owner=options.owner, four_eyes=options.four_eyes, by=who())
    say("set; it holds for jobs that are submitted, estimated or edited from now on")
    return 0
