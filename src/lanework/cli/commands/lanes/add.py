"""`lanework lanes add NAME`: a new lane starts with 1 slot unless told otherwise."""

from __future__ import annotations

import argparse

from lanework.cli.commands.lanes.columns import LANES
from lanework.cli.commands.lanes.values import add_values, values
from lanework.cli.output import show
from lanework.cli.session import application, who

configure = add_values


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        app.lanes.create(options.name, by=who(), **values(options))
        made = app.lanes.get(options.name)
    show(options.output, [made], LANES, id_of=lambda it: it.name)
    return 0
