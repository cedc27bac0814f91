"""`lanework rates set NAME --requests 500 --tokens 90000`"""

from __future__ import annotations

import argparse

from lanework.cli.commands.limits import show_change
from lanework.cli.options import seconds
from lanework.cli.output import add_output
from lanework.cli.session import application, who
from lanework.errors import InvalidLimit

_FIELDS = ("requests", "tokens", "window_s", "burst")


def configure(parser: argparse.ArgumentParser) -> None:
    absent = argparse.SUPPRESS
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--requests", type=_number, default=absent, metavar="N", help="requests in a window; none: no such limit")
    parser.add_argument("--tokens", type=_number, default=absent, metavar="N", help="tokens in a window; none: no such limit")
    parser.add_argument("--window", dest="window_s", type=seconds, default=absent, metavar="TIME", help="the window (1m)")
    parser.add_argument("--burst", type=float, default=absent, metavar="SHARE", help="what may go at once, as a share (0.05)")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    values = {field: getattr(options, field) for field in _FIELDS if hasattr(options, field)}
    if not values:
        raise InvalidLimit("say what to change, for example --requests 500")
    with application(options) as app:
        show_change(options.output, app.rates.set(options.name, by=who(), **values))
    return 0


def _number(text: str) -> float | None:
    if text.lower() in ("none", "null"):
        return None
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number or none, got {text!r}") from None
