"""`area under the curve (AUC)`: how far to the left a name goes, its acronym says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.graph.acronyms import acronyms, looks_like_acronym
from kg.graph.forms import form
from kg.local.mentions import CONCEPT, Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc

_FARTHEST = 8  # words


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
