"""`lanework rates list`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.limits import moment, number
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application
from lanework.rates import RateInfo

_RATES: list[Column[RateInfo]] = [
    Column("RATE", lambda it: it.name, flexible=True),
    Column("REQUESTS", lambda it: number(it.requests), right=True),
    Column("TOKENS", lambda it: number(it.tokens), right=True),
    Column("IN", lambda it: f"{it.window_s:g} s", right=True),
    Column("BURST", lambda it: f"{it.burst:.0%}", right=True),
    Column("PAUSED UNTIL", lambda it: moment(it.paused_until), colour=lambda it: "yellow" if it.paused_until else ""),
    Column("WAITING", lambda it: it.waiting, right=True),
    Column("SET BY", lambda it: it.set_by, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        show(options.output, app.rates.list(), _RATES, id_of=lambda it: it.name, none="no rate has been used yet")
    return 0
