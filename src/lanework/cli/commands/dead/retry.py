"""`lanework dead retry GROUP` or by filter: one goes ahead, and if it completes the others follow."""

from __future__ import annotations

import argparse

from lanework.cli.commands.dead.choice import add_choice, choices, confirmed
from lanework.cli.commands.dead.columns import REDRIVES
from lanework.cli.options import positive
from lanework.cli.output import add_output, say, show
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    add_choice(parser)
    parser.add_argument("--no-canary", action="store_true", help="send all, without one that goes ahead")
    parser.add_argument("--per-minute", type=positive, metavar="N", help="at most so many a minute (default: as fast as it goes)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        chosen = choices(app, options)
        if not confirmed(app, options, chosen, "sent back to the queue"):
            return 0
        canary, rate = not options.no_canary, options.per_minute
        started = [app.dead.redrive(canary=canary, per_minute=rate, by=who(), **one) for one in chosen]
    show(options.output, started, REDRIVES, id_of=lambda it: it.id)
    say("the workers carry it on; `lanework dead redrives` shows how far it is")
    return 0
