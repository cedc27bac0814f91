"""Claiming and ending runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from lanework._store.verb import Row, Verb, rows, scalar, verb
from lanework.retries import Verdict


class Claimed(NamedTuple):
    """One job that a claim has made ours."""

    id: int
    type_id: int
    attempt: int
    fence: int
    tries_used: int
    max_tries: int
    losses: int
    version: int
    rank: int
    suspect: bool
    created_at: datetime
    deadline: datetime | None
    owner: str | None
    bytes: int


class Ranges(NamedTuple):
    """Parts of the claim index to look at: after a position, up to a rank."""

    types: list[int]
    versions: list[int]
    ranks: list[int]
    ats: list[Any]
    ids: list[int]
    belows: list[int]


class Held(NamedTuple):
    """The fence of one run."""

    id: int
    attempt: int
    claim: UUID


class Cycle(NamedTuple):
    """The answer to one round: what is ours now, and whether all finishes were taken."""

    claimed: list[Claimed]
    all_taken: bool


def cycle(
    *, worker: int, lane: int, call: int, no: int, claim: UUID, want: int, used: int, capped: Sequence[int], capped_used: Sequence[int],
    ranges: Ranges, done: Sequence[tuple[int, int, UUID, str | None]],
) -> Verb[Cycle]:  # fmt: skip
    ids, attempts, claims, results = zip(*done, strict=True) if done else (None, None, None, None)
    return verb(
        "complete_and_claim", _cycle,
        worker=worker, lane=lane, call=call, no=no, claim=claim, want=want, used=used, capped=list(capped), capped_used=list(capped_used),
        **ranges._asdict(), done=_list(ids), done_attempts=_list(attempts), done_claims=_list(claims), done_results=_list(results),
    )  # fmt: skip


def _list(values: Any) -> list[Any] | None:
    return None if values is None else list(values)


def _cycle(found: list[Row]) -> Cycle:
    if found and found[0][0] < 0:
        return Cycle([Claimed._make(row) for row in found[1:]], False)
    return Cycle([Claimed._make(row) for row in found], True)


def payloads(claim: UUID, ids: list[int]) -> Verb[list[Row]]:
    """Rows (id, payload, checkpoint), undecoded: each is decoded inside its own run."""
    return verb("payloads", rows, claim=claim, ids=ids)


def completed(worker: int, done: Sequence[tuple[int, int, UUID, str | None]]) -> Verb[int]:
    ids, attempts, claims, results = zip(*done, strict=True)
    return verb(
        "completed", scalar, worker=worker, ids=list(ids), attempts=list(attempts), claims=list(claims), results=list(results)
    )


class Settled(NamedTuple):
    id: int
    next: str
    lane_id: int
    due_in: float | None


def settle(worker: int | None, ended: Sequence[tuple[Held, Verdict]]) -> Verb[list[Settled]]:
    return verb(
        "settle", lambda found: [Settled._make(row) for row in found], worker=worker,
        ids=[held.id for held, _ in ended], attempts=[held.attempt for held, _ in ended], claims=[held.claim for held, _ in ended],
        verdicts=[json.dumps(verdict.as_json()) for _, verdict in ended],
    )  # fmt: skip


def read_back(worker: int, held: Sequence[Held]) -> Verb[dict[int, bool]]:
    """For each run: did this worker end it itself?"""
    return verb(
        "read_back", lambda found: {row[0]: row[1] for row in found}, worker=worker,
        ids=[one.id for one in held], attempts=[one.attempt for one in held], claims=[one.claim for one in held],
    )  # fmt: skip

