"""Values of options: durations, lists, moments."""

from __future__ import annotations

import argparse
import re
from datetime import datetime, timedelta

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|min|m|h|d|w)?")
_UNITS = {"ms": 0.001, "s": 1, "": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}


def names(text: str) -> list[str]:
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError(f"expected names with commas between them, got {text!r}")
    return found


def seconds(text: str) -> float:
    """`30`, `1.5s`, `10m`, `2h`, `7d`."""
    match = _DURATION.fullmatch(text.strip())
    if not match:
        raise argparse.ArgumentTypeError(f"expected a duration like 30, 10m, 2h or 7d, got {text!r}")
    return float(match[1]) * _UNITS[match[2] or ""]


def moment(text: str) -> datetime | timedelta:
    """A time in ISO form, or how long ago."""
    if _DURATION.fullmatch(text.strip()):
        return timedelta(seconds=seconds(text))
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a duration like 10m or a time like 2030-01-31T12:00, got {text!r}") from None


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 on, got {text!r}")
    return int(text)


def amount(text: str) -> float:
    """A sum of money: 5, 12.50."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e12:
        raise argparse.ArgumentTypeError(f"expected a sum from 0 on, got {text!r}")
    return found


def number_or_none(text: str) -> int | None:
    """Slots: a number, or `none` for no limit."""
    if text.lower() in ("none", "null"):
        return None
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number or none, got {text!r}") from None
