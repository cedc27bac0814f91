"""Finds a quote in the text that it is said to be from, and gives it back as it stands there.

Models straighten quotes and dashes, join lines and drop accents. So a quote that is not found as it is, is looked for among texts
that are made alike on both sides; every character of those knows where it came from.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property

_ALIKE = str.maketrans({
    "‘": "'", "’": "'", "‚": "'", "‛": "'", "′": "'", "`": "'", "´": "'",
    "“": '"', "”": '"', "„": '"', "‟": '"', "″": '"', "«": '"', "»": '"',
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "—": "-", "―": "-", "−": "-",
    "…": "...",
})  # fmt: skip
#: What is put around a quote and does not belong to it.
_AROUND = " \t\r\n\"'“”„‘’«»….[]"
SHORTEST, LONGEST = 2, 2000
_PARTS = re.compile(r"[!-~]+(?: [!-~]+)*|\s+|.", re.DOTALL)


class Quotes:
    """Of one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, quote: str) -> tuple[int, str] | None:
        """Where it begins, and what stands there."""
        wanted = quote.strip()
        if not SHORTEST <= len(wanted) <= LONGEST or not any(map(str.isalnum, wanted)):
            return None
        if (start := self._text.find(wanted)) >= 0:
            return start, wanted
        return self._alike(wanted) or self._alike(wanted.strip(_AROUND))

    def _alike(self, wanted: str) -> tuple[int, str] | None:
        text, places = self._made_alike
        form = _alike(wanted)[0].strip()
        if len(form) < SHORTEST or (at := text.find(form)) < 0:
            return None
        start, end = places[at], places[at + len(form) - 1] + 1
        while end < len(self._text) and unicodedata.combining(self._text[end]):
            end += 1  # a mark belongs to the letter before it
        return start, self._text[start:end]

    @cached_property
    def _made_alike(self) -> tuple[str, list[int]]:
        return _alike(self._text)


def _alike(text: str) -> tuple[str, list[int]]:
    """The text without what type-setting adds, and for each character its place in the original."""
    made: list[str] = []
    places: list[int] = []
    for found in _PARTS.finditer(text):
        part, place = found[0], found.start()
        if part.isspace():
            if made and made[-1] != " ":
                made.append(" ")
                places.append(place)
        elif part < "\x80":
            made.append(part)
            places.extend(range(place, found.end()))
        elif plain := _plain(part):
            made.append(plain)
            places.extend([place] * len(plain))
    return "".join(made), places


def _plain(character: str) -> str:
    if unicodedata.category(character) == "Cf":  # soft hyphens, zero-width spaces
        return ""
    parts = unicodedata.normalize("NFKD", character.translate(_ALIKE))
    return "".join(one for one in parts if not unicodedata.combining(one) and not one.isspace())
