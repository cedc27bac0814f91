"""One concept with everything that is known of it: facts with their quotes, other names, relations with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kg._store import reading as store
from kg.graph.evidence import Evidence, evidence
from kg.graph.sight import Run

MOST = 200


@dataclass(frozen=True, slots=True)
class Alias:
    form: str
    sources: int


@dataclass(frozen=True, slots=True)
class Relation:
    """`outward`: from the concept to `other_…`; else from there to the concept. `sources` is how many say so."""

    id: int
    outward: bool
    type: str
    tier: str
    direction: str
    confidence: float
    sources: int
    other_id: int
    other_label: str
    other_type: str
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class ConceptPage:
    """`moved_from` is the id that was asked for, if that concept is part of this one now."""

    id: int
    ontology: str
    label: str
    type: str
    description: str
    search_terms: list[str]
    seen_count: int
    grounding: float | None
    diversity: float | None
    moved_from: int | None
    aliases: list[Alias]
    facts: list[Evidence]
    relations: list[Relation]


async def concept(run: Run, id: int, model: str | None, limit: int, ontologies: Sequence[int] | None) -> ConceptPage | None:
    found, moved = await run(store.get_concept(id, model, ontologies)), None
    if found is None and (now := await run(store.moved_to(id))) is not None:
        found, moved = await run(store.get_concept(now, model, ontologies)), id
    if found is None:
        return None
    here = found[0]
    aliases = [Alias(*row) for row in await run(store.concept_aliases(here, limit))]
    facts = [evidence(row) for row in await run(store.concept_quotes(here, limit))]
    related = await run(store.concept_relations(here, limit, ontologies))
    relations = [Relation(*(*row[:10], evidence(row[10:]))) for row in related]
    return ConceptPage(*(*found, moved, aliases, [one for one in facts if one is not None], relations))
