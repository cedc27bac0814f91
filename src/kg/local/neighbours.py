"""The weak tier: what stands in one sentence has something to do with each other, one time in four."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.local.mentions import Mention
from kg.local.relations import Related, sentences

if TYPE_CHECKING:
    from spacy.tokens import Doc

CONFIDENCE = 0.25


def neighbours(doc: Doc, mentions: list[Mention]) -> Iterator[Related]:
    """Quantities are nobody's neighbours, and two days are not each other's."""
    for sentence in sentences(doc, mentions):
        kept = [number for number in sentence if mentions[number].type != "quantity"]
        for position, one in enumerate(kept):
            for other in kept[position + 1 :]:
                if not mentions[one].type == mentions[other].type == "date":
                    yield Related(one, other, "RELATED_TO", CONFIDENCE)
