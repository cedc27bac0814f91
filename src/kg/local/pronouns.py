"""He, she and it: whom a sentence means that begins with one of them. The subject of the sentence before, where that can be;
nothing cleverer runs here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kg.local.mentions import CONCEPT, Mention
from kg.local.relations import SUBJECTS

if TYPE_CHECKING:
    from spacy.tokens import Doc

PRONOUN = "pronoun"
_PERSONS, _THINGS = frozenset(("he", "she", "his", "her")), frozenset(("it", "its"))


def pronouns(doc: Doc) -> list[Mention]:
    return [
        Mention(token.i, token.i + 1, PRONOUN)
        for token in doc
        if token.lower_ in _PERSONS | _THINGS and (token.dep_ in SUBJECTS or token.dep_ == "poss")
    ]


def meant(doc: Doc, mentions: list[Mention]) -> dict[int, int]:
    """The number of a pronoun → the number of the mention that it stands for. `mentions` are sorted, the pronouns among them."""
    found: dict[int, int] = {}
    person: int | None = None
    thing: int | None = None
    for number, mention in enumerate(mentions):
        if mention.type == PRONOUN:
            known = person if doc[mention.first].lower_ in _PERSONS else thing
            if doc[mention.first].lower_ in _PERSONS and (beside := _beside(doc, mention, mentions[:number])) is not None:
                known = beside
            if known is not None:
                found[number] = known
        elif mention.type == "person" and (person is None or _is_subject(doc, mention)):
            person = number
        elif mention.named and mention.type not in ("person", "group") and (thing is None or _is_subject(doc, mention)):
            thing = number
        elif mention.type == CONCEPT and _is_subject(doc, mention):
            thing = None  # it may be this
    return found


def _beside(doc: Doc, pronoun: Mention, before: list[Mention]) -> int | None:
    """Otto Aust and his wife: the one whom the tree puts beside what is his."""
    own = doc[pronoun.first].head
    if doc[pronoun.first].dep_ != "poss" or own.dep_ != "conj":
        return None
    return next(
        (at for at in reversed(range(len(before))) if before[at].type == "person" and before[at].root(doc) == own.head), None
    )


def _is_subject(doc: Doc, mention: Mention) -> bool:
    """The owner, Marco Andreis, is the subject by both names."""
    root = mention.root(doc)
    if root.dep_ == "appos":
        root = root.head
    return root.dep_ in SUBJECTS and root.head.dep_ in ("ROOT", "ccomp", "conj")
