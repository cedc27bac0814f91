"""What the local extractor says of a text, as tests look at it."""

from __future__ import annotations

import asyncio

from kg.parts import Concept, Extraction
from tests.kg.local_models import local_extractor


def extract(text: str) -> Extraction:
    found = asyncio.run(local_extractor().extract(text))
    keys = {one.key for one in found.concepts}
    for one in found.instances:
        assert text[one.start : one.start + len(one.quote)] == one.quote
        assert one.quote.strip()
        assert one.concept_key in keys
    for related in found.relationships:
        assert {related.from_key, related.to_key} <= keys
        assert related.from_key != related.to_key
        assert 0 < related.confidence <= 1
        assert english_type(related.type)
    return found


def english_type(type: str) -> bool:
    return type[0].isalpha() and type.isascii() and type.upper() == type and len(type) <= 100 and type.replace("_", "").isalnum()


def labels(found: Extraction) -> dict[str, Concept]:
    return {one.label: one for one in found.concepts}


def stated(found: Extraction, tier: str = "precise") -> set[tuple[str, str, str]]:
    name = {one.key: one.label for one in found.concepts}
    return {(name[one.from_key], one.type, name[one.to_key]) for one in found.relationships if one.tier == tier}
