"""What people said of two names, as rows."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kg._store.verb import Row, Verb, rows, scalar, verb
from lanework import Lanework


@asynccontextmanager
async def transaction(work: Lanework) -> AsyncIterator[Any]:
    """A connection in a transaction of its own, outside of any job."""
    async with (await work._async_keeper()).for_blocks().connection() as conn, conn.transaction():
        yield conn


def _first(found: list[Row]) -> Row | None:
    return found[0] if found else None


def decide(ontology: int, pairs: Sequence[tuple[str, str]], decision: str, *, what: str, by: str) -> Verb[Any]:
    """The number of the act."""
    ordered = [sorted(pair) for pair in pairs]
    ones, others = [one for one, _ in ordered], [other for _, other in ordered]
    return verb("decide", scalar, ontology=ontology, ones=ones, others=others, decision=decision, what=what, by=by)


def undo_act(act: int, *, by: str) -> Verb[Any]:
    """The forms that it was about, or None if there is nothing to undo."""
    return verb("undo_act", scalar, act=act, by=by)


def act_ontology(act: int) -> Verb[Any]:
    return verb("act_ontology", scalar, act=act)


def list_acts(ontology: int, before: int | None, limit: int) -> Verb[list[Row]]:
    """(act, decision, pairs, by, at, undone by, undone at)."""
    return verb("list_acts", rows, ontology=ontology, before=before, limit=limit)


def names_called(ontology: int, forms: Iterable[str]) -> Verb[set[int]]:
    return verb("names_called", lambda found: {row[0] for row in found}, ontology=ontology, forms=list(forms))


def list_proposals(ontology: int, after: tuple[float, int] | None, limit: int) -> Verb[list[Row]]:
    """(id; form, label, context, concept of the one; the same of the other; score, created)."""
    score, id = after or (None, None)
    return verb("list_proposals", rows, ontology=ontology, score=score, id=id, limit=limit)


def get_proposal(id: int) -> Verb[Row | None]:
    """(ontology, form, form)."""
    return verb("get_proposal", _first, id=id)


def find_concept(id: int) -> Verb[Row | None]:
    """(id, ontology, forms)."""
    return verb("find_concept", _first, id=id)
