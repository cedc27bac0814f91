"""Entity spans: every mention that people marked against every one that the extractor names; untyped, exact."""

from __future__ import annotations

from collections.abc import Iterable

from kg.evaluation.data import Annotated, Span, bare
from kg.local.mentions import CONCEPT
from kg.parts import Extraction


def named_spans(text: str, found: Extraction) -> frozenset[Span]:
    """Common nouns are no entities to the annotators."""
    named = {one.key for one in found.concepts if one.type != CONCEPT}
    places = ((one.start, one.start + len(one.quote)) for one in found.instances if one.concept_key in named)
    return frozenset(bare(span, text) for span in places)


def f1(pairs: Iterable[tuple[Annotated, Extraction]]) -> tuple[float, float, float, int]:
    """F1, precision, recall, and how many spans people marked."""
    right = marked = found = 0
    for document, extraction in pairs:
        gold = frozenset(span for entity in document.entities for span in entity.spans)
        ours = named_spans(document.text, extraction)
        right, marked, found = right + len(gold & ours), marked + len(gold), found + len(ours)
    precision, recall = right / max(found, 1), right / max(marked, 1)
    return 2 * precision * recall / max(precision + recall, 1e-9), precision, recall, marked
