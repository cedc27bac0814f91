"""What is exported, and how a form takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Concept:
    id: int
    ontology: str
    label: str
    type: str
    description: str
    search_terms: Sequence[str]
    seen_count: int


@dataclass(frozen=True, slots=True)
class Relation:
    id: int
    from_id: int
    to_id: int
    type: str
    tier: str
    direction: str
    confidence: float
    sources: int


class Form(Protocol):
    """All concepts, then all relations. Every method answers the bytes that come next."""

    media_type: str
    suffix: str

    def begin(self) -> bytes: ...

    def concept(self, one: Concept) -> bytes: ...

    def relation(self, one: Relation) -> bytes: ...

    def end(self) -> bytes: ...
