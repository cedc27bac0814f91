"""`Ontologies`: list, create, change, delete. Each is a graph of its own."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from kg._store import documents as store
from kg._store.transaction import Transaction, once
from kg.access.reach import EVERYTHING, Reach
from kg.errors import DocumentNotFound, InvalidOntology, OntologyExists, OntologyNotFound
from lanework import Lanework

State = Literal["active", "pinned", "frozen"]
STATES: tuple[State, ...] = ("active", "pinned", "frozen")
_NAME = re.compile(r"[^\s/\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]{0,99}")


@dataclass(frozen=True, slots=True)
class Ontology:
    """`active`: grows and may be reshaped; `pinned`: grows, and nothing reshapes it; `frozen`: takes no documents."""

    id: int
    name: str
    description: str
    state: State
    epoch: int
    created_by: str
    created_at: datetime
    documents: int
    concepts: int


class Held(NamedTuple):
    id: int
    state: State
    created_by: str


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name != name.strip():
        raise InvalidOntology(
            f"ontology: expected a name of 1 to 100 characters without slashes and without blanks around it, got {name[:120]!r}",
            field="ontology",
        )
    return name


async def hold(tx: Transaction, name: str, *, by: str) -> Held:
    """The ontology of this name, made if there is none, and kept as it is until the transaction has ended."""
    checked_name(name)
    while True:
        found = await tx.run(store.hold_ontology(name)) or await tx.run(store.create_ontology(name, "", by=by))
        if found is not None:  # else somebody has made it in this moment
            return Held(*found[:3])


class Ontologies:
    def __init__(self, work: Lanework, *, remove: Callable[[int, str], Awaitable[object]]) -> None:
        self._work, self._remove = work, remove

    async def find(self, reach: Reach = EVERYTHING, name: str | None = None) -> list[Ontology]:
        rows = await self._work._arun(
            store.list_ontologies(name, all=reach.everything, names=sorted(reach.ontologies), owner=reach.owner)
        )
        return [Ontology(*row) for row in rows]

    async def show(self, name: str, reach: Reach = EVERYTHING) -> Ontology:
        found = await self.find(reach, name)
        if not found:
            raise OntologyNotFound(f"there is no ontology {name!r}")
        return found[0]

    async def create(self, name: str, description: str = "", *, by: str) -> Ontology:
        if await self._work._arun(store.create_ontology(checked_name(name), description, by=by)) is None:
            raise OntologyExists(f"there is an ontology {name!r} already")
        return await self.show(name)

    async def change(self, name: str, *, state: str | None = None, description: str | None = None, by: str) -> Ontology:
        if state is not None and state not in STATES:
            raise InvalidOntology(f"state: expected one of {', '.join(STATES)}, got {state!r}", field="state")
        verb = store.set_ontology(name, state, description, by=by)
        if await once(self._work, lambda tx: tx.run(verb)) is None:
            raise OntologyNotFound(f"there is no ontology {name!r}")
        return await self.show(name)

    async def delete(self, name: str, *, by: str) -> int:
        """With all its documents, one by one: what runs for them is not waited for all at once. Until then it takes no more.
        Answers how many they were."""
        ontology = await self.change(name, state="frozen", by=by)
        documents = await self._work._arun(store.ontology_documents(ontology.id))
        for id in documents:
            with contextlib.suppress(DocumentNotFound):
                await self._remove(id, by)

        async def act(tx: Transaction) -> None:
            if await tx.run(store.take_ontology(name)) is not None:
                await tx.run(store.delete_ontology(ontology.id, len(documents), by=by))

        await once(self._work, act)
        return len(documents)
