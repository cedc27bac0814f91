"""What one chunk says, as rows: under forms instead of the extractor's own keys. The same extraction gives the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from kg.graph.likeness import form
from kg.parts import Concept, Direction, Extraction, Tier
from kg.vocabulary.types import normalise

#: Characters that no stored text has: PostgreSQL takes no NUL, and \x1f separates.
_UNSTORABLE = str.maketrans({"\x00": None, "\x1f": " "})
LONGEST_LABEL, LONGEST_DESCRIPTION, MOST_TERMS = 300, 2000, 20
#: What the embedder is shown of a description; it would not see much more.
CONTEXT = 500


@dataclass(frozen=True)
class Mention:
    """`rank` orders mentions by what they say: the lowest leads its name. One with a description comes before one without."""

    form: str
    label: str
    type: str
    description: str
    terms: tuple[tuple[str, str], ...]  # (term, its form)

    @cached_property
    def rank(self) -> bytes:
        said = "\x1f".join((self.label, self.type, self.description)).encode()
        return (b"\x00" if self.description else b"\x01") + hashlib.sha256(said).digest()[:15]


@dataclass(frozen=True)
class Meaning:
    """A text to embed, and whose it is."""

    rank: bytes
    text: str


def meaning(rank: bytes, label: str, description: str) -> Meaning:
    return Meaning(rank, f"{label}: {description[:CONTEXT]}" if description else label)


@dataclass(frozen=True)
class Claim:
    from_form: str
    to_form: str
    type: str
    tier: Tier
    direction: Direction
    confidence: float


@dataclass(frozen=True)
class Said:
    """`places` are (form, start, end, quote), counted from the chunk's beginning. `dropped`: what cannot be stored."""

    mentions: tuple[Mention, ...]
    places: tuple[tuple[str, int, int, str], ...]
    claims: tuple[Claim, ...]
    dropped: int

    @cached_property
    def leaders(self) -> dict[str, Mention]:
        """Form → the mention of this chunk that comes first."""
        return {one.form: one for one in sorted(self.mentions, key=lambda one: one.rank, reverse=True)}


def said(extraction: Extraction) -> Said:
    forms = {one.key: _form(one.label) for one in extraction.concepts}
    mentions: dict[tuple[str, str], Mention] = {}
    for concept in extraction.concepts:
        if forms[concept.key]:
            new = _mention(concept, forms[concept.key])
            known = mentions.get((new.form, new.label))
            mentions[new.form, new.label] = _joined(known, new) if known else new
    places = {
        (forms[one.concept_key], one.start, one.start + len(one.quote)): _clean(one.quote)
        for one in extraction.instances
        if forms.get(one.concept_key) and one.quote and one.start >= 0
    }
    claims = _claims(extraction, forms)
    lost = sum(not forms[one.key] for one in extraction.concepts)
    return Said(
        tuple(sorted(mentions.values(), key=lambda one: (one.form, one.label))),
        tuple(sorted((*place, quote) for place, quote in places.items())),
        tuple(sorted(claims, key=lambda one: (one.from_form, one.to_form, one.type))),
        lost,
    )


def _form(label: str) -> str:
    label = _clean(label)
    return form(label) if label and len(label) <= LONGEST_LABEL else ""


def _clean(text: str) -> str:
    # surrogates that stand alone cannot be encoded
    return text.translate(_UNSTORABLE).encode("utf-8", "replace").decode().strip()


def _mention(concept: Concept, its_form: str) -> Mention:
    terms = {term: form(term) for term in map(_clean, concept.search_terms) if term and len(term) <= LONGEST_LABEL}
    label = _clean(concept.label)
    kept = sorted((term, called) for term, called in terms.items() if called and term != label)[:MOST_TERMS]
    return Mention(its_form, label, _clean(concept.type)[:100], _clean(concept.description)[:LONGEST_DESCRIPTION], tuple(kept))


def _joined(one: Mention, other: Mention) -> Mention:
    """Two concepts of an answer with one label are one."""
    return Mention(
        one.form, one.label, one.type or other.type, max(one.description, other.description, key=len),
        tuple(sorted({*one.terms, *other.terms})[:MOST_TERMS]),
    )  # fmt: skip


def _claims(extraction: Extraction, forms: dict[str, str]) -> Iterable[Claim]:
    made: dict[tuple[str, str, str], Claim] = {}
    for one in extraction.relationships:
        ends = [forms.get(one.from_key, ""), forms.get(one.to_key, "")]
        normal = normalise(one.type)
        if normal.swapped:
            ends.reverse()
        if one.direction == "both":
            ends.sort()
        if not all(ends) or ends[0] == ends[1]:
            continue
        key = (ends[0], ends[1], normal.type)
        new = Claim(*key, one.tier, one.direction, min(max(one.confidence, 0.0), 1.0))
        made[key] = _stronger(made[key], new) if key in made else new
    return made.values()


def _stronger(one: Claim, other: Claim) -> Claim:
    tier: Tier = "precise" if "precise" in (one.tier, other.tier) else "weak"
    direction: Direction = "both" if "both" in (one.direction, other.direction) else "forward"
    return Claim(one.from_form, one.to_form, one.type, tier, direction, max(one.confidence, other.confidence))
