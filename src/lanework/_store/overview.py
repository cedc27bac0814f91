"""What an operator's page asks: who holds which slot, what waits since when; and the end of a finished job's rows."""

from __future__ import annotations

from collections.abc import Sequence

from lanework._store.verb import Row, Verb, rows, scalar, verb


def slot_holders(limit: int) -> Verb[list[Row]]:
    return verb("slot_holders", rows, limit=limit)


def queue_depth(most: int) -> Verb[list[Row]]:
    return verb("queue_depth", rows, most=most)


def delete_job(job_id: int, by: str) -> Verb[str | None]:
    return verb("delete_job", scalar, id=job_id, by=by)


def owned(owner: str, ids: Sequence[int]) -> Verb[list[int]]:
    """Those of the jobs that belong to an owner. A range is asked for by its ends."""
    given = None if isinstance(ids, range) else list(ids)
    return verb("owned", lambda found: [row[0] for row in found], owner=owner, first=min(ids), last=max(ids), ids=given)
