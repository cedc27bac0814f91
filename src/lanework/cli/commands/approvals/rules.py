"""`lanework approvals rules`: who needs an approval. Rules of operators come before what code declares."""

from __future__ import annotations

import argparse

from lanework.approvals import Above, ApprovalRule
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application


def policy(rule: ApprovalRule) -> str:
    return f"above {rule.policy.amount:g} {rule.policy.currency}" if isinstance(rule.policy, Above) else rule.policy


RULES: list[Column[ApprovalRule]] = [
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("OWNER", lambda it: it.owner, flexible=True),
    Column("POLICY", policy),
    Column("FOUR EYES", lambda it: {True: "yes", False: "no", None: ""}[it.four_eyes]),
    Column("SET BY", lambda it: it.set_by, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser, ids=False)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = app.approvals.rules()
    show(options.output, found, RULES, none="nothing needs an approval")
    return 0
