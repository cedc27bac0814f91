"""`kg audit list`"""

from __future__ import annotations

import argparse

from kg.cli.house import settings_of
from lanework.cli.commands import audit

configure = audit.configure


def run(options: argparse.Namespace) -> int:
    settings_of(options)
    options.dsn = None  # it is in the environment now
    return audit.run(options)
