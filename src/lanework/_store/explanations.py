"""The answers of `lanework.explain` and `lanework.explain_lane`."""

from __future__ import annotations

from lanework._store.verb import Row, Verb, verb
from lanework.explanations import Brake, Explanation


def explain(job_id: int) -> Verb[Explanation]:
    return verb("explain", lambda found: Explanation(*_tuples(found[0])), id=job_id)


def explain_lane(name: str) -> Verb[Brake]:
    return verb("explain_lane", lambda found: Brake(*_tuples(found[0])), name=name)


def _tuples(row: Row) -> Row:
    return tuple(tuple(value) if isinstance(value, list) else value for value in row)
