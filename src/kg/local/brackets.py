"""`area under the curve (AUC)`: how far to the left a name goes, its acronym says. `Northgate Data Ltd, a firm ("Northgate")`: how
it is called from here on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.graph.acronyms import acronyms, looks_like_acronym
from kg.graph.forms import form
from kg.local.mentions import CONCEPT, Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc

_FARTHEST = 8  # words
_OPENING, _CLOSING = frozenset(('"', "“", "'", "‘")), frozenset(('"', "”", "'", "’"))


def lengthened(doc: Doc, mentions: list[Mention]) -> list[Mention]:
    """Common nouns before a bracket with their acronym take the words that it stands for; what lay in these goes. Sorted."""
    kept: list[Mention] = []
    for one in mentions:
        whole = _whole(doc, one) if one.type in (CONCEPT, "") else one
        swallowed = [other for other in kept if other.touches(whole)]
        if any(other.type != CONCEPT for other in swallowed):
            whole, swallowed = one, []
        kept = [*(other for other in kept if other not in swallowed), whole] if swallowed else [*kept, whole]
    return kept


def _whole(doc: Doc, one: Mention) -> Mention:
    if one.last + 2 >= len(doc) or doc[one.last].text != "(" or doc[one.last + 2].text != ")":
        return one
    short = doc[one.last + 1].text
    if not looks_like_acronym(short):
        return one
    least = max(one.first - _FARTHEST, doc[one.first].sent.start)
    for first in range(one.first, least - 1, -1):
        if not doc[first].is_punct and form(short) in acronyms(doc[first : one.last].text):
            return Mention(first, one.last, one.type)
    return one


def defined(doc: Doc, mentions: list[Mention]) -> dict[int, str]:
    """The number of a name → the beginning of it by which the same sentence says, in brackets and quotes, that it is called."""
    found: dict[int, str] = {}
    for number, one in enumerate(mentions):
        if not (one.named and _is_quoted(doc, one)):
            continue
        start, short = doc[one.first].sent.start, form(one.text(doc))
        for before in range(number - 1, -1, -1):
            if mentions[before].first < start:
                break
            if mentions[before].named and form(mentions[before].text(doc)).startswith(f"{short} "):
                found[before] = one.text(doc)
                break
    return found


def _is_quoted(doc: Doc, one: Mention) -> bool:
    """("Northgate"), (the "Bank")"""
    first, last = one.first - 1, one.last
    if first < 1 or last >= len(doc) or doc[first].text not in _OPENING or doc[last].text not in _CLOSING:
        return False
    return doc[first - 1].text == "(" or (doc[first - 1].lower_ == "the" and first > 1 and doc[first - 2].text == "(")
