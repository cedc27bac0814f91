"""What is written while a job runs, under its fence. Answers tell whose claim still holds."""

from __future__ import annotations

from collections.abc import Sequence

from lanework._store.claims import Held
from lanework._store.verb import Row, Verb, verb


def _ids(found: list[Row]) -> set[int]:
    return {row[0] for row in found}


def write_progress(entries: Sequence[tuple[Held, float | None, str, str | None]]) -> Verb[set[int]]:
    return verb(
        "write_progress", _ids,
        ids=[held.id for held, *_ in entries], attempts=[held.attempt for held, *_ in entries],
        claims=[held.claim for held, *_ in entries], fractions=[entry[1] for entry in entries],
        messages=[entry[2] for entry in entries], data=[entry[3] for entry in entries],
    )  # fmt: skip


def write_logs(held: Sequence[Held], lines: Sequence[tuple[int, int, str, str]]) -> Verb[set[int]]:
    """`lines` are (job, attempt, stream, text), in order."""
    return verb(
        "write_logs", _ids,
        ids=[one.id for one in held], attempts=[one.attempt for one in held], claims=[one.claim for one in held],
        jobs=[line[0] for line in lines], job_attempts=[line[1] for line in lines],
        streams=[line[2] for line in lines], texts=[line[3] for line in lines],
    )  # fmt: skip


def save_checkpoint(held: Held, state: str) -> Verb[bool]:
    return verb("save_checkpoint", lambda found: bool(found[0][0]), id=held.id, attempt=held.attempt, claim=held.claim, state=state)
