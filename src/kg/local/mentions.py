"""A mention: where a text speaks of something. Tokens count within a parsed part, characters within that part's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: spaCy's labels → types of concepts. What is not here is no concept.
TYPES = {
    "PERSON": "person", "ORG": "organization", "GPE": "place", "LOC": "place", "FAC": "facility", "NORP": "group",
    "PRODUCT": "product", "WORK_OF_ART": "work", "EVENT": "event", "LAW": "law", "LANGUAGE": "language", "DATE": "date",
    "TIME": "date", "MONEY": "quantity", "PERCENT": "quantity", "QUANTITY": "quantity",
}  # fmt: skip
CONCEPT = "concept"  # a common noun


@dataclass(frozen=True, order=True)
class Mention:
    """Tokens `first` to `last`, the last one not included."""

    first: int
    last: int
    type: str

    @property
    def named(self) -> bool:
        return self.type not in (CONCEPT, "date", "quantity")

    def touches(self, other: Mention) -> bool:
        return self.first < other.last and other.first < self.last

    def root(self, doc: Doc) -> Token:
        return doc[self.first : self.last].root

    def text(self, doc: Doc) -> str:
        return doc[self.first : self.last].text
