"""Text for terminals: safe, of known width, coloured only where colours are wanted."""

from __future__ import annotations

import os
import re
import sys
import unicodedata

_PASSWORDS = re.compile(r"(://[^:/@\s]*:)[^@\s]+(?=@)|(\b(?:ssl)?password\s*=\s*)('[^']*'|\S+)")
COLOURS = {"red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36, "dim": 2, "bold": 1}
STATUS_COLOURS = {
    "running": "cyan", "completed": "green", "failed": "red", "cancelled": "yellow", "scheduled": "blue",
    "awaiting_approval": "yellow",
    "active": "green", "draining": "yellow", "dead": "red", "drained": "yellow",
}  # fmt: skip


def safe(text: str, *, keep: str = "") -> str:
    """Job data must not drive the terminal: what is not printable is shown as its escape."""
    if text.isprintable():
        return text
    return "".join(one if _is_harmless(one) or one in keep else _escape(one) for one in text)


def _is_harmless(one: str) -> bool:
    # no-break and other spaces are not "printable" to Python, and harmless
    return one.isprintable() or unicodedata.category(one) == "Zs"


def _escape(one: str) -> str:
    return one.encode("unicode_escape").decode()


def redact(text: str) -> str:
    """Words for people, without the password of an address and without control characters."""
    return safe(_PASSWORDS.sub(lambda found: f"{found[1] or found[2]}***", text), keep="\n")


def width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def clip(text: str, most: int) -> str:
    """At most so many columns; a cut shows as `…`."""
    if width(text) <= most:
        return text
    kept, used = "", 0
    for one in text:
        used += width(one)
        if used > most - 1:
            break
        kept += one
    return f"{kept}…" if most > 0 else ""


def pad(text: str, size: int, *, right: bool = False) -> str:
    room = " " * max(size - width(text), 0)
    return f"{room}{text}" if right else f"{text}{room}"


def paint(text: str, colour: str) -> str:
    if not colour or not wants_colour():
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def wants_colour() -> bool:
    return is_terminal() and not os.environ.get("NO_COLOR")


def bar(fraction: float | None, size: int = 10) -> str:
    """Progress as a bar with its number; nothing for a job that tells nothing."""
    if fraction is None:
        return ""
    full = round(min(max(fraction, 0.0), 1.0) * size)
    return f"{'█' * full}{'░' * (size - full)} {fraction:4.0%}"
