"""Names of documents come from outside: they are shown, never used as a path."""

from __future__ import annotations

import re
import unicodedata

LONGEST = 200
#: Control characters, and those that turn the direction of writing: `gpj.exe` must not read as `exe.jpg`.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def safe_name(name: str, *, fallback: str = "document") -> str:
    """The last part of a path or address, on one line, at most 200 characters; its suffix is kept."""
    last = re.split(r"[/\\]", name[-10_000:])[-1]
    shown = "".join(" " if one.isspace() else one for one in last if one.isspace() or unicodedata.category(one) not in _HIDDEN)
    shown = " ".join(shown.split())
    return _shortened(shown) if shown.strip(". ") else fallback


def suffix_of(name: str) -> str:
    """`.pdf` of `Report.PDF`; none of `.hidden` or `README`."""
    found = re.search(r"[^./\\](\.[A-Za-z0-9]{1,10})$", name)
    return found[1].lower() if found else ""


def _shortened(name: str) -> str:
    if len(name) <= LONGEST:
        return name
    suffix = suffix_of(name)
    return name[: LONGEST - len(suffix) - 1] + "…" + suffix
