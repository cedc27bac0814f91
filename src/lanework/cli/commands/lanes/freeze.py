"""`lanework lanes freeze NAME… --for 1h`: nothing starts there for a while, whatever the lanes' own settings are or become."""

from __future__ import annotations

import argparse

from lanework.cli.options import seconds
from lanework.cli.output import Column, add_output, say, show
from lanework.cli.session import application, who
from lanework.freezes import Freeze

COLUMNS: list[Column[Freeze]] = [
    Column("ID", lambda it: it.id, right=True),
    Column("LANES", lambda it: ", ".join(it.lanes), flexible=True),
    Column("BY", lambda it: it.by, flexible=True),
    Column("UNTIL", lambda it: "its job ends" if it.until is None else it.until.astimezone().strftime("%Y-%m-%d %H:%M:%S")),
    Column("REASON", lambda it: it.reason, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="without names: the freezes there are")
    parser.add_argument("--for", dest="expires", type=seconds, default=3600.0, metavar="TIME", help="ends by itself (default: 1h)")
    parser.add_argument("--wait", type=seconds, metavar="TIME", help="until nothing runs there, at most so long (30, 10m, 2h)")
    parser.add_argument("--reason", default="", help="shown wherever somebody asks why nothing starts")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        made = app.freezes.start(options.names, by=who(), reason=options.reason, expires=options.expires) if options.names else 0
        if made and options.wait is not None:
            app.freezes.wait(options.names, options.wait)
        found = [one for one in app.freezes.list() if made in (0, one.id)]
    show(options.output, found, COLUMNS, id_of=lambda it: it.id, none="no lane is frozen")
    if made:
        say(f"`lanework lanes thaw {made}` ends it")
    return 0
