"""`lanework lanes set NAME --max-slots 4`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.lanes.columns import show_change
from lanework.cli.commands.lanes.values import add_values, values
from lanework.cli.session import application, who
from lanework.errors import InvalidLane

configure = add_values


def run(options: argparse.Namespace) -> int:
    changes = values(options)
    if not changes:
        raise InvalidLane("say what to change, for example --max-slots 4; `lanework lanes set --help` lists all")
    with application(options) as app:
        show_change(options.output, app.lanes.set(options.name, by=who(), **changes))
    return 0
