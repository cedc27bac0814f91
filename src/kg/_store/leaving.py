"""Chunks that have no document any more, until what they said is taken out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kg._store.verb import Row, Verb, nothing, rows, scalar, verb


def _firsts(found: list[Row]) -> list[int]:
    return [row[0] for row in found]


def leave(ontology: int, sources: Sequence[int]) -> Verb[None]:
    return verb("leave", nothing, ontology=ontology, sources=list(sources))


def leaving_ontologies() -> Verb[list[int]]:
    return verb("leaving_ontologies", _firsts)


def leaving_names(ontology: int, limit: int) -> Verb[set[int]]:
    return verb("leaving_names", lambda found: set(_firsts(found)), ontology=ontology, limit=limit)


def leaving_meanings(names: Iterable[int], space: int) -> Verb[list[Row]]:
    """(rank, label, description)."""
    return verb("leaving_meanings", rows, names=list(names), space=space)


def leave_claims(names: Iterable[int]) -> Verb[list[Row]]:
    """As the claims of `Told`."""
    return verb("leave_claims", rows, names=list(names))


def leave_mentions(names: Iterable[int]) -> Verb[set[int]]:
    return verb("leave_mentions", lambda found: {row[0] for row in found}, names=list(names))


def leave_sources(ontology: int, limit: int) -> Verb[Any]:
    """How many there were."""
    return verb("leave_sources", len, ontology=ontology, limit=limit)


def still_leaving(sources: Sequence[int]) -> Verb[Any]:
    """Has any of these still to go?"""
    return verb("still_leaving", scalar, sources=list(sources))
