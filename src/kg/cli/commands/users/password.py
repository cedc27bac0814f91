"""A password from the keyboard or a pipe; never from the command line, where others can see it."""

from __future__ import annotations

import argparse
import getpass
import sys

from lanework.errors import ConfigError


def add_password(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--password", action="store_true", help="ask for a password, or read it from stdin")


def read_password(options: argparse.Namespace) -> str | None:
    if not options.password:
        return None
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    first = getpass.getpass("password: ")
    if getpass.getpass("once more: ") != first:
        raise ConfigError("the two passwords differ")
    return first
