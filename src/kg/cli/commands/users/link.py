"""`kg users link`: a link that logs a user in, once, within the hour."""

from __future__ import annotations

import argparse

from kg.cli.commands.serve import url
from kg.cli.house import settings_of, with_access
from kg.cli.note import read_note
from lanework.cli.output import write
from lanework.cli.session import who


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name")


def run(options: argparse.Namespace) -> int:
    secret = with_access(options, lambda access: access.create_link(options.name, by=who()))
    settings = settings_of(options)
    write(f"{read_note().get('url') or url(settings.host, settings.port)}/login/{secret}")
    return 0
