"""Evidence: a quote, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: An end of a sentence, and the ends of paragraphs, list items and rows of a table.
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\s*\n\s*\n\s*|\n(?=[-*#|]|[^\n]* \| )")
LONGEST = 500


@dataclass(frozen=True, slots=True)
class Evidence:
    """`start` and `end` are characters of the document's text; `quote` is what stands there, `sentence` what it stands in."""

    document_id: int
    document: str
    title: str
    source_id: int
    start: int
    end: int
    quote: str
    sentence: str


def evidence(row: Sequence[Any]) -> Evidence | None:
    """From the columns of a place: document, name, title, source, start, finish, text around it, where that starts. Or of none."""
    document, name, title, source, start, finish, around, around_start = row
    if document is None:
        return None
    begin, end = start - around_start, finish - around_start
    return Evidence(document, name, title, source, start, finish, around[begin:end], sentence(around, begin, end))


def sentence(text: str, begin: int, end: int) -> str:
    """The sentence, or the sentences, that `text[begin:end]` is part of; what is too long is cut around it."""
    first = max((found.end() for found in _END.finditer(text, 0, begin)), default=0)
    after = _END.search(text, max(end - 1, begin))
    last = after.start() if after else len(text)
    if last - first > LONGEST:
        end = min(end, begin + LONGEST)
        room = (LONGEST - (end - begin)) // 2
        first, last = max(first, begin - room), min(last, end + room)
    return " ".join(text[first:last].split())
