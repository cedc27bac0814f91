"""What a job does from the inside: steps, blobs, children, its own fenced transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from lanework._store.claims import Held
from lanework._store.verb import Row, Verb, nothing, rows, scalar, verb


class StoredStep(NamedTuple):
    """JSON text, or the hash of a blob that has it."""

    result: str | None
    blob: str | None


def get_step(job_id: int, key: str) -> Verb[StoredStep | None]:
    return verb("get_step", lambda found: StoredStep(*found[0]) if found else None, id=job_id, key=key)


def step_keys(job_id: int, limit: int) -> Verb[frozenset[str]]:
    return verb("step_keys", lambda found: frozenset(row[0] for row in found), id=job_id, limit=limit)


def get_items(job_id: int, prefix: str) -> Verb[dict[str, StoredStep]]:
    return verb("get_items", lambda found: {row[0]: StoredStep(row[1], row[2]) for row in found}, id=job_id, prefix=prefix)


def save_step(held: Held, key: str, result: str | None, blob: str | None = None) -> Verb[bool]:
    return verb(
        "save_step",
        lambda found: bool(found[0][0]),
        id=held.id,
        attempt=held.attempt,
        claim=held.claim,
        key=key,
        result=result,
        blob=blob,
    )


def list_steps(job_id: int, limit: int) -> Verb[list[Row]]:
    return verb("list_steps", rows, id=job_id, limit=limit)


def item_errors(job_id: int, limit: int) -> Verb[list[Row]]:
    return verb("item_errors", rows, id=job_id, limit=limit)


def save_blob(held: Held, hash: str, data: bytes) -> Verb[bool]:
    return verb(
        "save_blob", lambda found: bool(found[0][0]), id=held.id, attempt=held.attempt, claim=held.claim, hash=hash, data=data
    )


def get_blob(hash: str) -> Verb[bytes | None]:
    return verb("get_blob", lambda found: bytes(found[0][0]) if found else None, hash=hash)


def enter_transaction(held: Held, timeout: float) -> Verb[bool]:
    """Locks the job's row FOR SHARE under the guard, for the length of the transaction, and sets its limits."""
    limit = f"{int(timeout * 1000)}ms"
    return verb("held", lambda found: bool(found[0][-1]), id=held.id, attempt=held.attempt, claim=held.claim, limit=limit)


class Child(NamedTuple):
    name: str
    id: int
    lane: str


def submit_children(
    held: Held, names: Sequence[str], type: str, payloads: Sequence[str], *, version: int, priority: int | None,
    delay: float | None, max_tries: int | None, session: str | None,
) -> Verb[list[Child]]:  # fmt: skip
    return verb(
        "submit_children", lambda found: [Child._make(row) for row in found], id=held.id, attempt=held.attempt, claim=held.claim,
        names=list(names), type=type, payloads=list(payloads), version=version, priority=priority, delay=delay, max_tries=max_tries,
        session=session,
    )  # fmt: skip


def list_children(job_id: int) -> Verb[list[Row]]:
    return verb("list_children", rows, id=job_id)


def promote_sessions(sessions: Sequence[str]) -> Verb[Any]:
    return verb("promote_sessions", scalar, sessions=list(sessions))


def freed(ids: Sequence[int]) -> Verb[None]:
    return verb("freed", nothing, ids=list(ids))


def wake_parents(ids: Sequence[int]) -> Verb[None]:
    return verb("wake_parents", nothing, ids=list(ids))
