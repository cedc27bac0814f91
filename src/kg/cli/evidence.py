"""Evidence for people: a wrapped quote, and under it where it stands."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping
from typing import Any

from lanework.cli.text import clip, is_terminal, paint, safe

Record = Mapping[str, Any]


def columns() -> int:
    return min(shutil.get_terminal_size().columns, 100) if is_terminal() else 80


def wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(safe(text), columns(), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def quoted(evidence: Record | None, indent: str = "    ") -> list[str]:
    """Nothing, where there is none."""
    if evidence is None:
        return []
    lines = wrapped(f"“{evidence['sentence']}”", indent)
    return [*lines, paint(clip(f"{indent}— {place(evidence)}", columns()), "dim")]


def place(evidence: Record) -> str:
    return safe(f"{evidence['document']}:{evidence['start']}–{evidence['end']}")


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
