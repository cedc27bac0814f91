"""Numbers in words for people."""

from __future__ import annotations


def age(seconds: float | None) -> str:
    """`4 s`, `3 min`, `2 h`, `5 d`: one number, its unit."""
    if seconds is None:
        return ""
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s" if seconds >= 9.5 else f"{max(seconds, 0):.1f} s"


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
