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


#: A job, or many that follow each other: the first and the last.
Stretch = tuple[int, int]


def job_owners(owners: Sequence[str], stretches: Sequence[Stretch]) -> Verb[list[Row]]:
    """(owner, first, last): which of these jobs belong to which of these owners, in stretches that do not touch, in order."""
    firsts, lasts = [one[0] for one in stretches], [one[1] for one in stretches]
    return verb("job_owners", rows, owners=list(owners), firsts=firsts, lasts=lasts)


def peek_events(xid: int, id: int) -> Verb[list[Row]]:
    """Which jobs the newest events are about, final order or not."""
    return verb("peek_events", rows, xid=str(xid), id=id)
