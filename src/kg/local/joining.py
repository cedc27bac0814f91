"""Names of which the recogniser saw the parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.local.mentions import Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc

#: Osaka Bay, German Renaissance: what it is, is in the words after it
_PLACES = frozenset(("place", "group"))


def joined(doc: Doc, found: list[Mention]) -> list[Mention]:
    """What the recogniser saw a part of: Orlando + Magic, Bay + of + Biscay."""
    kept: list[Mention] = []
    for one in found:
        if kept and (one.type == "" or _is_model(doc, one)) and _are_one(doc, kept[-1], one):
            kept[-1] = Mention(kept[-1].first, one.last, one.type or (kept[-1].type if kept[-1].type not in _PLACES else ""))
        elif kept and one.named and kept[-1].type == "" and _is_of(doc, kept[-1], one):
            kept[-1] = Mention(kept[-1].first, one.last, "")
        else:
            kept.append(one)
    return kept


def _is_model(doc: Doc, one: Mention) -> bool:
    """The S10 of SolarShare is the SolarShare S10."""
    text = one.text(doc)
    return one.type == "product" and one.last - one.first == 1 and any(map(str.isdecimal, text)) and any(map(str.isalpha, text))


def _are_one(doc: Doc, before: Mention, one: Mention) -> bool:
    """Does the first say which of the second, in the tree? Both are written with capitals."""
    touching = before.named and before.last == one.first and doc[one.first].text[0].isupper()
    return touching and one.first <= before.root(doc).head.i < one.last


def _is_of(doc: Doc, before: Mention, one: Mention) -> bool:
    between = [token.lower_ for token in doc[before.last : one.first]]
    return between in (["of"], ["of", "the"]) and before.first <= doc[before.last].head.i < before.last
