"""One part of a text, parsed: what is mentioned where, and what is said of what. Plain values: nothing of spaCy leaves here."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from kg.graph.acronyms import acronyms, looks_like_acronym
from kg.graph.forms import form
from kg.local.brackets import defined, lengthened
from kg.local.cleaning import squeezed
from kg.local.english import is_english
from kg.local.foreign import foreign_names
from kg.local.mentions import CONCEPT, Mention
from kg.local.names import is_shouted, names
from kg.local.neighbours import CONFIDENCE, neighbours
from kg.local.nouns import nouns
from kg.local.pronouns import PRONOUN, meant, pronouns
from kg.local.relations import MOST_IN_SENTENCE, Related, relations
from kg.local.unread import is_unread
from kg.local.unspaced import is_unspaced, sentences

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token


@dataclass(frozen=True)
class Seen:
    """A mention at characters `start` to `end` of the whole text. `also` is another name that the text gives with it."""

    label: str
    type: str
    start: int
    end: int
    also: str = ""


@dataclass(frozen=True)
class Reading:
    seen: list[Seen]
    precise: list[Related]
    weak: list[Related]
    tokens: int


def read(model: Language, part: str, start: int) -> Reading:
    """`start` is where the part begins in the whole text."""
    text, places = squeezed(part)
    if not text.strip():
        return Reading([], [], [], 0)
    if is_unspaced(text):
        return _unspaced(part, start)
    if is_unread(text):
        return Reading([], [], [], 0)
    with model.memory_zone():  # else every word that was ever seen is kept
        doc = model(text)
        named = names(doc)
        if not is_english(doc):
            kept = foreign_names(doc, named)
            return Reading([_seen(doc, one, places, start) for one in kept], [], list(neighbours(doc, kept)), len(doc))
        mentions = sorted([*lengthened(doc, sorted([*named, *nouns(doc, named)])), *pronouns(doc)])
        number = _numbers(doc, mentions)
        small = {token.text for token in doc if token.is_lower}
        short = defined(doc, mentions)
        seen = [
            _seen(doc, mention, places, start, small=small, short=short.get(number, ""))
            for number, mention in enumerate(mentions)
            if mention.type != PRONOUN
        ]
        return Reading(
            seen, _renumbered(relations(doc, mentions), number), _renumbered(neighbours(doc, mentions), number), len(doc)
        )


def _unspaced(part: str, start: int) -> Reading:
    """No model here can read it."""
    seen: list[Seen] = []
    weak: list[Related] = []
    for found in sentences(part):
        here = range(len(seen), len(seen) + min(len(found), MOST_IN_SENTENCE))
        seen += [Seen(part[first:last], type, start + first, start + last) for first, last, type in found]
        weak += [Related(one, other, "RELATED_TO", CONFIDENCE) for one, other in combinations(here, 2)]
    return Reading(seen, [], weak, 0)


def _numbers(doc: Doc, mentions: list[Mention]) -> list[int | None]:
    """What each mention is called without the pronouns; a pronoun by what it stands for."""
    own: list[int | None] = []
    count = 0
    for mention in mentions:
        own.append(None if mention.type == PRONOUN else count)
        count += mention.type != PRONOUN
    for pronoun, stands_for in meant(doc, mentions).items():
        own[pronoun] = own[stands_for]
    return own


def _renumbered(found: Iterable[Related], number: list[int | None]) -> list[Related]:
    ends = ((number[related.one], number[related.other], related) for related in found)
    return [
        related._replace(one=one, other=other)
        for one, other, related in ends
        if one is not None and other is not None and one != other
    ]


def _seen(
    doc: Doc, mention: Mention, places: list[int], start: int, *, small: AbstractSet[str] = frozenset(), short: str = ""
) -> Seen:  # fmt: skip
    """`small`: the words that the text has in small letters; `short`: how it is called from here on."""
    span = doc[mention.first : mention.last]
    label = " ".join(span.text.split())
    if mention.type == CONCEPT and label[1:].islower() and _is_big_by_place(span[0], small):
        label = label[0].lower() + label[1:]
    elif mention.type == CONCEPT and is_shouted(doc, mention):
        label = label.lower()
    also = _also(doc, mention) or short
    return Seen(label, mention.type, start + places[span.start_char], start + places[span.end_char - 1] + 1, also)


def _is_big_by_place(first: Token, small: AbstractSet[str]) -> bool:
    """Has it a capital only because a sentence or a heading begins with it?"""
    return bool(first.is_sent_start) and (first.pos_ != "PROPN" or first.lower_ in small)


def _also(doc: Doc, mention: Mention) -> str:
    """`Full Name (ABC)`, and `ABC (Full Name)`."""
    close = mention.last + 1
    while close < len(doc) and close <= mention.last + 12 and doc[close].text != ")":
        close += 1
    if mention.last + 1 >= close or close >= len(doc) or doc[close].text != ")" or doc[mention.last].text != "(":
        return ""
    outside, inside = " ".join(mention.text(doc).split()), doc[mention.last + 1 : close].text.strip("\"'“”‘’ ")
    for short, long in ((inside, outside), (outside, inside)):
        if looks_like_acronym(short) and form(short) in acronyms(long):
            return inside
    return ""
