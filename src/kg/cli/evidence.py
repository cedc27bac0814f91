"""Evidence for people: a wrapped quote, and under it where it stands."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from typing import Any

from lanework.cli.text import clip, is_terminal, paint, safe, width

Record = Mapping[str, Any]
#: Characters of a sentence that are shown around a quote: three to four lines. `-o json` has all.
_ROOM = 260
#: Also before an item of a list, a heading, and a row of a table.
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:(?:[-*+#>]|\d+[.)]) |\|)|[^\n]* \| )")


def columns() -> int:
    return min(shutil.get_terminal_size().columns, 100) if is_terminal() else 80


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines that fit; white space is one blank. Of words too long for a line, as much as fits."""
    lines, most = [""], columns() - len(indent)
    for word in safe(" ".join(text.split())).split(" "):
        rest = word
        if lines[-1] and width(lines[-1]) + 1 + width(rest) > most:
            lines.append("")
        while width(rest) > most:
            taken = _beginning(rest, most)
            lines[-1:], rest = [taken, ""], rest[len(taken) :]
        lines[-1] += f" {rest}" if lines[-1] else rest
    return [f"{indent}{line}" for line in lines if line]


def _beginning(word: str, most: int) -> str:
    """At least one character."""
    end = next((end for end in range(2, len(word) + 1) if width(word[:end]) > most), len(word) + 1)
    return word[: end - 1]


def paragraphs(text: str, indent: str = "") -> list[str]:
    return [line for one in _PARAGRAPH.split(text) for line in wrapped(one, indent)]


def quoted(evidence: Record | None, indent: str = "    ") -> list[str]:
    """Nothing, where there is none."""
    if evidence is None:
        return []
    lines = wrapped(f"“{around(evidence['sentence'], evidence['quote'])}”", indent)
    return [*lines, paint(clip(f"{indent}— {place(evidence)}", columns()), "dim")]


def around(sentence: str, quote: str) -> str:
    """As much of a sentence as people read: of a table's row the cells that the quote is in, of a long one the words beside it."""
    quote = " ".join(quote.split())
    begin = max(sentence.find(quote), 0)
    end = min(begin + len(quote), len(sentence))
    if sentence.startswith("|"):
        first, last = sentence.rfind("|", 0, begin + 1) + 1, sentence.find("|", end)
        last = len(sentence) if last < 0 else last
        sentence, begin, end = sentence[first:last], begin - first, end - first
    if len(sentence) <= _ROOM:
        return sentence.strip()
    room = max(_ROOM - (end - begin), 0) // 2
    first = max(begin - room - max(room - (len(sentence) - end), 0), 0)
    return _whole_words(sentence, first, min(first + _ROOM, len(sentence)))


def _whole_words(text: str, first: int, last: int) -> str:
    """What is cut shows as `…`, with no half word beside it."""
    if first:
        first = text.find(" ", first) + 1 or first
    if last < len(text):
        last = max(text.rfind(" ", first, last + 1), first + 1)
    return f"{'… ' if first else ''}{text[first:last].strip()}{' …' if last < len(text) else ''}"


def arrow(type: str, *, outward: bool, direction: str) -> str:
    """A relation, as it is read from here to the other; one that holds both ways points nowhere."""
    if direction == "both":
        return f"── {type} ──"
    return f"── {type} ─▶" if outward else f"◀─ {type} ──"


def place(evidence: Record) -> str:
    return safe(f"{evidence['document']}:{evidence['start']}–{evidence['end']}")


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
