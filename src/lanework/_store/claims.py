"""Claiming and ending runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Self

from lanework._store.verb import Row, Verb, query, rows, scalar, verb
from lanework.retries import Verdict


class Claimed(NamedTuple):
    """One job that a claim has made ours."""

    id: int
    type_id: int
    attempt: int
    fence: int
    tries_used: int
    version: int
    turn: int
    rank: int
    suspect: bool
    past: bool
    created_at: datetime
    owner: str | None
    bytes: int
    payload: str | None


@dataclass(frozen=True)
class Ranges:
    """Parts of the claim index to look at: after a position, up to a turn and rank."""

    types: Sequence[int]
    versions: Sequence[int]
    turns: Sequence[int]
    ranks: Sequence[int]
    ats: Sequence[datetime]
    ids: Sequence[int]
    below_turns: Sequence[int]
    belows: Sequence[int]

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> Self:
        return cls(*zip(*rows, strict=True)) if rows else cls((), (), (), (), (), (), (), ())

    @cached_property
    def params(self) -> dict[str, str]:
        """As the statement takes them. Rendered once: who claims in vain asks for the same again and again."""
        return {
            "types": array(self.types), "versions": array(self.versions), "turns": array(self.turns), "ranks": array(self.ranks),
            "ats": array([at.isoformat() for at in self.ats]), "ids": array(self.ids),
            "below_turns": array(self.below_turns), "belows": array(self.belows),
        }  # fmt: skip


class Held(NamedTuple):
    """The fence of one run. The claim's uuid is kept as text: it is only ever sent."""

    id: int
    attempt: int
    claim: str


#: A fence, and the result as JSON text.
Finished = tuple[int, int, str, str | None]


class Cycle(NamedTuple):
    """The answer to one round: what is ours now, and whether all finishes were taken."""

    claimed: list[Claimed]
    all_taken: bool


def cycle(
    *, worker: int, lane: int, call: int, no: int, claim: str, want: int, used: int, capped: Sequence[int],
    capped_used: Sequence[int], ranges: Ranges, done: Sequence[Finished], limits: dict[str, Any] | None = None,
) -> Verb[Cycle]:  # fmt: skip
    ids, attempts, claims, results = _columns(done) if done else (None, None, None, None)
    params = {
        "worker": worker, "lane": lane, "call": call, "no": no, "claim": claim, "want": want, "used": used,
        "capped": array(capped), "capped_used": array(capped_used), **ranges.params,
        "done": ids, "done_attempts": attempts, "done_claims": claims, "done_results": results,
        "limits": None if limits is None else json.dumps(limits),
    }  # fmt: skip
    return Verb(query("complete_and_claim"), params, _cycle, binary=True)


def array(values: Iterable[object]) -> str:
    """An array in PostgreSQL's own notation. The driver would look at each element; here are thousands of them a second."""
    return "{" + ",".join(map(str, values)) + "}"


def _columns(done: Sequence[Finished]) -> tuple[str, str, str, list[str | None] | None]:
    ids, attempts, claims, results = zip(*done, strict=True)
    return array(ids), array(attempts), array(claims), list(results) if any(results) else None


def _cycle(found: list[Row]) -> Cycle:
    if found and found[0][0] < 0:
        return Cycle([Claimed._make(row) for row in found[1:]], False)
    return Cycle([Claimed._make(row) for row in found], True)


def payloads(claim: str, ids: Iterable[int]) -> Verb[list[Row]]:
    """Rows (id, payload, checkpoint), undecoded: each is decoded inside its own run."""
    return verb("payloads", rows, claim=claim, ids=array(ids))


def completed(worker: int, done: Sequence[Finished]) -> Verb[int]:
    ids, attempts, claims, results = _columns(done)
    return verb("completed", scalar, worker=worker, ids=ids, attempts=attempts, claims=claims, results=results)


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
