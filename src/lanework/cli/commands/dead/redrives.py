"""`lanework dead redrives [ID…]`: how far each is; `--stop ID` ends one."""

from __future__ import annotations

import argparse

from lanework.cli.commands.dead.columns import REDRIVES
from lanework.cli.options import positive
from lanework.cli.output import add_output, show
from lanework.cli.session import application, who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="*", type=positive, help="only these, with what became of their jobs")
    parser.add_argument("--active", action="store_true", help="only those under way")
    parser.add_argument("--stop", type=positive, metavar="ID", help="what is back in the queue stays there; the others stay dead")
    parser.add_argument("--reason", default="", help="with --stop: kept with the redrive")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if options.stop:
            found = [app.dead.stop(options.stop, by=who(), reason=options.reason)]
        elif options.ids:
            found = [app.dead.get_redrive(number) for number in options.ids]
        else:
            found = app.dead.redrives(active=options.active)
    show(options.output, found, REDRIVES, id_of=lambda it: it.id, none="no redrives")
    return 0
