"""Related pairs: two entities of a document, related in whatever way, whichever of them comes first."""

from __future__ import annotations

from collections import Counter

from kg.evaluation.data import Annotated, Span, bare
from kg.evaluation.tally import Tally
from kg.parts import Extraction

Pairs = set[frozenset[int]]


def tallies(document: Annotated, extraction: Extraction) -> tuple[Tally, Tally]:
    """Of the precise tier, and of both together. A pair counts where both ends are entities that people marked: of others nobody
    has said whether they are related."""
    precise: Pairs = set()
    both: Pairs = set()
    entity_of = _entities(document, extraction)
    for one in extraction.relationships:
        pair = frozenset((entity_of.get(one.from_key, -1), entity_of.get(one.to_key, -1)))
        if len(pair) == 2 and -1 not in pair:
            both.add(pair)
            if one.tier == "precise":
                precise.add(pair)
    return _tally(precise, document), _tally(both, document)


def _tally(found: Pairs, document: Annotated) -> Tally:
    return Tally(len(found & document.related), len(found), len(document.related))


def _entities(document: Annotated, extraction: Extraction) -> dict[str, int]:
    """Concept key → the entity that most of its mentions are mentions of."""
    exact = {span: number for number, entity in enumerate(document.entities) for span in entity.spans}
    votes: dict[str, Counter[int]] = {}
    for one in extraction.instances:
        span = bare((one.start, one.start + len(one.quote)), document.text)
        number = exact.get(span, _touched(span, exact))
        if number is not None:
            votes.setdefault(one.concept_key, Counter())[number] += 1
    return {key: min(counted, key=lambda number: (-counted[number], number)) for key, counted in votes.items()}


def _touched(span: Span, exact: dict[Span, int]) -> int | None:
    """The one entity that the span lies over, if it is one."""
    touched = {number for (start, end), number in exact.items() if start < span[1] and span[0] < end}
    return touched.pop() if len(touched) == 1 else None
