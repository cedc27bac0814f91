"""`lanework status`: one screen, once or again and again."""

from __future__ import annotations

import argparse
import shutil
import sys
import time

from lanework.cli.options import seconds
from lanework.cli.output import as_json, plain, write
from lanework.cli.screen import render
from lanework.cli.session import application
from lanework.cli.snapshot import take
from lanework.cli.text import is_terminal
from lanework.client import Lanework

_CLEAR_REST, _HOME, _CLEAR_LINE = "\x1b[J", "\x1b[H", "\x1b[K"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-w", "--watch", action="store_true", help="again and again, until Ctrl-C")
    parser.add_argument("-i", "--interval", type=seconds, default=1.0, metavar="S", help="seconds between two looks (default: 1)")
    parser.add_argument("-o", "--output", choices=("table", "json", "jsonl"), default="table", help="(default: table)")


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        if not options.watch:
            _print(app, options.output)
        elif options.output == "table" and is_terminal():
            _watch_screen(app, options.interval)
        else:
            _watch_lines(app, options)
    return 0


def _print(app: Lanework, form: str) -> None:
    found = take(app)
    if form == "table":
        write(*render(found, *_size()))
    else:
        write(as_json(plain(found), indent=2 if form == "json" else None))


def _watch_lines(app: Lanework, options: argparse.Namespace) -> None:
    form = "jsonl" if options.output == "json" else options.output
    while True:
        _print(app, form)
        if form == "table":
            write("")
        sys.stdout.flush()
        time.sleep(options.interval)


def _watch_screen(app: Lanework, interval: float) -> None:
    """On a screen of its own, drawn over without flicker; the old one comes back at the end."""
    sys.stdout.write(_ENTER)
    try:
        while True:
            lines = render(take(app), *_size())
            sys.stdout.write(_HOME + f"{_CLEAR_LINE}\r\n".join(lines) + _CLEAR_REST)
            sys.stdout.flush()
            time.sleep(interval)
    finally:
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


def _size() -> tuple[int, int]:
    columns, lines = shutil.get_terminal_size((80, 24)) if is_terminal() else (80, 0)
    return max(columns, 40), lines
