"""`kg`, the command line of the platform."""

from __future__ import annotations

from collections.abc import Sequence

from kg.cli.parser import parse
from lanework import cli

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    return cli.main(argv, parse)
