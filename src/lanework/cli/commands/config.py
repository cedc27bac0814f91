"""`lanework config`: every setting, its value, and where that came from."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanework._loading import Target
from lanework.cli.address import shown_dsn
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import settings_of
from lanework.config import Settings


@dataclass(frozen=True)
class Row:
    name: str
    value: Any
    origin: str
    default: Any
    unit: str
    env: str
    help: str


COLUMNS: list[Column[Row]] = [
    Column("SETTING", lambda it: it.name),
    Column(
        "VALUE", lambda it: _value(it.value, it.unit), flexible=True, colour=lambda it: "" if it.origin == "default" else "cyan"
    ),
    Column("FROM", lambda it: it.origin),
    Column("MEANING", lambda it: f"{it.help} ({it.env})" if it.env != it.origin else it.help, flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="TARGET", nargs="?", help="show the settings of this application: module:app or file.py")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    settings = _settings_of_app(options.target) if options.target else settings_of(options)
    rows = [_row(settings, item) for item in Settings.describe()]
    show(options.output, rows, COLUMNS, id_of=lambda it: it.name)
    return 0


def _settings_of_app(target: str) -> Settings:
    sys.path.insert(0, str(Path.cwd()))
    settings: Settings = Target.parse(target).load().settings
    return settings


def _row(settings: Settings, item: dict[str, Any]) -> Row:
    value = getattr(settings, item["name"])
    if value is not None and item["name"] in ("dsn", "direct_dsn"):
        value = shown_dsn(value)
    return Row(value=value, origin=settings.origin.get(item["name"], "default"), **item)


def _value(value: Any, unit: str) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value} {unit}".strip()
