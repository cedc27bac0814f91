"""`kg work`: workers only; run it on as many machines as you like."""

from __future__ import annotations

import argparse

from kg.cli.house import settings_of
from lanework.cli.commands import worker
from lanework.cli.options import names, seconds


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lanes", type=names, metavar="A,B", help="lanes to serve (default: all)")
    parser.add_argument("--name", help="how lists call it (default: host and process)")
    parser.add_argument("--grace", type=seconds, metavar="S", help="seconds that running jobs get to finish (default: 30)")
    parser.set_defaults(target="kg.app:work", dsn=None)


def run(options: argparse.Namespace) -> int:
    settings_of(options)
    return worker.run(options)
