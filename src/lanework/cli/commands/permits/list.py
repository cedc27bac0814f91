"""`lanework permits list`"""

from __future__ import annotations

import argparse

from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application
from lanework.permits import PermitInfo

PERMITS: list[Column[PermitInfo]] = [
    Column("PERMIT", lambda it: it.name, flexible=True),
    Column("HELD", lambda it: f"{it.held}/{it.capacity}", right=True, colour=lambda it: "yellow" if it.held >= it.capacity else ""),
    Column("WAITING", lambda it: it.waiting, right=True),
    Column("SET BY", lambda it: it.set_by, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        show(options.output, app.permits.list(), PERMITS, id_of=lambda it: it.name, none="no permit has been used yet")
    return 0
