"""Acronyms: what looks like one, what people make of a name's initials, and whether one stands for a name."""

from __future__ import annotations

import re
import unicodedata

from kg.graph.forms import ARTICLES, LONGEST, bare, without_possessive

_SMALL = frozenset(
    ("of", "the", "and", "for", "in", "on", "at", "to", "de", "la", "du", "des", "del", "di", "der", "und", "et", "y")
)  # fmt: skip
_BREAK = re.compile(r"[\W_]+")
#: Letters that one word may give to an acronym, and words that are looked at.
_MOST_LETTERS, _MOST_WORDS = 3, 12


def acronyms(label: str) -> set[str]:
    """Forms that people make of a name's initials: with the small words, without them, and of the capitals alone."""
    parts = _words(label)
    while parts and parts[0].casefold() in ARTICLES:
        parts = parts[1:]
    if len(parts) < 2 or sum(len(part) > 1 for part in parts) < 2:
        return set()
    big = [part for part in parts if part.casefold() not in _SMALL]
    capital = [part for part in big if part[0].isupper()]
    made = {_initials(some) for some in (parts, big, capital) if len(some) > 1}
    return {one for one in made if 2 <= len(one) <= 10}


def looks_like_acronym(label: str) -> bool:
    """`JAMA`, `U.S.`, `PhD`: short, no space inside, and mostly capitals."""
    letters = [letter for letter in label if letter.isalnum()]
    if not 2 <= len(letters) <= 10 or " " in label.strip():
        return False
    capitals = sum(letter.isupper() for letter in letters)
    return capitals >= 2 and 2 * capitals > len(letters) and not letters[0].isdigit()


def abbreviates(short: str, label: str) -> bool:
    """Could this form be made of the name though it is not its initials? ASEAN: Association of SouthEast Asian Nations. Words give
    their letters in order, the first letter first; small words may give none, and so may the last ones where enough others did: the
    Party, USA. Most letters must begin a word, else anything stands for everything."""
    if not 3 <= len(short) <= 10 or not short.isalnum():
        return False
    words = [bare(part.casefold()) for part in _words(label)][:_MOST_WORDS]
    return len(words) > 2 and _spelt(short, words, len(short))


def _spelt(left: str, words: list[str], whole: int, used: int = 0) -> bool:
    if not left:
        silent = sum(word not in _SMALL for word in words)
        return used >= 3 and 10 * used >= 6 * whole and silent <= used - 2
    if not words:
        return False
    first, rest = words[0], words[1:]
    if first in _SMALL and _spelt(left, rest, whole, used):
        return True
    at = -1
    for taken in range(1, min(_MOST_LETTERS, len(left)) + 1):
        at = first.find(left[taken - 1], at + 1)
        if at < 0 or (taken == 1 and at > 0):
            return False
        if _spelt(left[taken:], rest, whole, used + 1):
            return True
    return False


def _words(label: str) -> list[str]:
    text = without_possessive(unicodedata.normalize("NFKC", label)[:LONGEST])
    return [part for part in _BREAK.split(text) if part]


def _initials(parts: list[str]) -> str:
    return bare("".join(part[0] for part in parts).casefold())
