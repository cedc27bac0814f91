"""`Decisions`: what people say of names that are alike. The graph is computed from it as from everything else, so it can be undone
at any time, and it holds for documents that come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from kg._store import decisions as store
from kg._store import graph as rows
from kg._store.graph import arun
from kg._store.verb import Verb
from kg.errors import GraphNotFound, InvalidDecision, OntologyNotFound
from kg.graph.likeness import form
from kg.graph.settle import Change, settle
from lanework import Lanework

T = TypeVar("T")
Decision = Literal["same", "apart"]
_DECISIONS = ("same", "apart")


@dataclass(frozen=True, slots=True)
class Candidate:
    form: str
    label: str
    context: str
    concept_id: int


@dataclass(frozen=True, slots=True)
class Proposal:
    id: int
    one: Candidate
    other: Candidate
    score: float
    created_at: datetime

    @property
    def place(self) -> tuple[float, int]:
        """What `after` takes for the next page."""
        return self.score, self.id


@dataclass(frozen=True, slots=True)
class Act:
    id: int
    decision: Decision
    pairs: list[tuple[str, str]]
    decided_by: str
    decided_at: datetime
    undone_by: str | None
    undone_at: datetime | None


class Decisions:
    def __init__(self, work: Lanework) -> None:
        self._work = work

    async def _run(self, verb: Verb[T]) -> T:
        return await self._work._arun(verb)

    async def proposals(self, ontology: int, *, after: tuple[float, int] | None = None, limit: int = 50) -> list[Proposal]:
        """Pairs of names that may be one thing and are two concepts, the most alike first."""
        found = await self._run(store.list_proposals(ontology, after, limit))
        return [Proposal(row[0], Candidate(*row[1:5]), Candidate(*row[5:9]), row[9], row[10]) for row in found]

    async def acts(self, ontology: int, *, before: int | None = None, limit: int = 50) -> list[Act]:
        """What was decided, newest first."""
        found = await self._run(store.list_acts(ontology, before, limit))
        return [Act(row[0], row[1], [(one, other) for one, other in row[2]], *row[3:]) for row in found]

    async def decide(self, proposal: int, decision: Decision, *, by: str) -> int:
        """Answers with the number of the act, for `undo`."""
        found = await self._run(store.get_proposal(proposal))
        if found is None:
            raise GraphNotFound(f"there is no open proposal {proposal}: it was decided, or its names have changed")
        ontology, one, other = found
        return await self._decide(ontology, [(one, other)], decision, what=f"proposal.{_checked(decision)}", by=by)

    async def decide_names(self, ontology: int, one: str, other: str, decision: Decision, *, by: str) -> int:
        """By any two names, whether or not somebody proposed them or they are there yet."""
        pair = (form(one), form(other))
        if not all(pair) or pair[0] == pair[1]:
            raise InvalidDecision(f"{one!r} and {other!r}: expected two names that are written differently")
        return await self._decide(ontology, [pair], decision, what=f"names.{_checked(decision)}", by=by)

    async def merge(self, one: int, other: int, *, by: str) -> int:
        """All names of both concepts are one from now on."""
        (mine, ontology, forms), (his, elsewhere, others) = await self._concept(one), await self._concept(other)
        if mine == his:
            raise InvalidDecision(f"concepts {one} and {other} are one already ({mine})")
        if ontology != elsewhere:
            raise InvalidDecision(f"concepts {one} and {other} are of two ontologies")
        together = [*forms, *others]
        return await self._decide(ontology, [(together[0], each) for each in together[1:]], "same", what="concept.merge", by=by)

    async def undo(self, act: int, *, by: str) -> None:
        async with store.transaction(self._work) as conn:
            ontology = await arun(conn, store.act_ontology(act))
            if ontology is None:
                raise GraphNotFound(f"there is nothing to undo in act {act}: it is not there, or was undone")
            await arun(conn, rows.lock_ontology(ontology))
            if (forms := await arun(conn, store.undo_act(act, by=by))) is None:
                raise GraphNotFound(f"there is nothing to undo in act {act}: it was undone")
            await self._settle(conn, ontology, forms, "undo", act=act, by=by)

    async def _concept(self, id: int) -> tuple[int, int, list[str]]:
        found = await self._run(store.find_concept(id))
        if found is None:
            raise GraphNotFound(f"there is no concept {id}")
        return found[0], found[1], found[2]

    async def _decide(self, ontology: int, pairs: Sequence[tuple[str, str]], decision: Decision, *, what: str, by: str) -> int:
        async with store.transaction(self._work) as conn:
            await arun(conn, rows.lock_ontology(ontology))
            if await arun(conn, rows.epoch_now(ontology)) is None:
                raise OntologyNotFound(f"there is no ontology {ontology}")
            act = int(await arun(conn, store.decide(ontology, pairs, decision, what=what, by=by)))
            await self._settle(conn, ontology, [form for pair in pairs for form in pair], decision, act=act, by=by)
        return act

    async def _settle(self, conn: Any, ontology: int, forms: Sequence[str], kind: str, *, act: int, by: str) -> None:
        epoch = int(await arun(conn, rows.epoch_now(ontology))) + 1
        names = await arun(conn, store.names_called(ontology, forms))
        last = rows.next_epoch(ontology, epoch, f"decision: {kind}", actor=by, job=None, act=act)
        await settle(conn, Change(ontology, 0, epoch, {}, reseat=names), last)


def _checked(decision: str) -> str:
    if decision not in _DECISIONS:
        raise InvalidDecision(f"decision: expected one of {', '.join(_DECISIONS)}, got {decision!r}")
    return decision
