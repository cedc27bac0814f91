"""`kg roles remove`"""

from __future__ import annotations

import argparse

from kg.cli.house import with_access
from lanework.cli.output import say
from lanework.cli.session import who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")


def run(options: argparse.Namespace) -> int:
    with_access(options, lambda access: access.remove_role(options.name, by=who()))
    say(f"the role {options.name} is gone; whoever had it keeps his others")
    return 0
