"""Entity spans: every mention that people marked against every one that the extractor names; untyped, exact."""

from __future__ import annotations

from kg.evaluation.data import Annotated, Span, bare
from kg.evaluation.tally import Tally
from kg.local.mentions import CONCEPT
from kg.parts import Extraction


def named_spans(text: str, found: Extraction) -> frozenset[Span]:
    """Common nouns are no entities to the annotators."""
    named = {one.key for one in found.concepts if one.type != CONCEPT}
    places = ((one.start, one.start + len(one.quote)) for one in found.instances if one.concept_key in named)
    return frozenset(bare(span, text) for span in places)


def tally(document: Annotated, extraction: Extraction) -> Tally:
    gold = frozenset(span for entity in document.entities for span in entity.spans)
    ours = named_spans(document.text, extraction)
    return Tally(len(gold & ours), len(ours), len(gold))
