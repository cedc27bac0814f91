"""What somebody may see of the graph: all of it, or some ontologies. Outside of that nothing exists."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from kg._store import reading as store
from kg._store.verb import Verb
from kg.errors import OntologyNotFound

Run = Callable[[Verb[Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Sight:
    """`names` of ontologies, and those that `owner` has made; `all` of them otherwise."""

    all: bool = False
    names: frozenset[str] = frozenset()
    owner: str | None = None

    async def within(self, run: Run, ontology: str | None = None) -> list[int] | None:
        """The ids of what can be seen; None: no limit. An ontology that cannot be seen is not found."""
        if self.all and ontology is None:
            return None
        return [id for id, _ in await self.ontologies(run, ontology)]

    async def ontologies(self, run: Run, ontology: str | None = None) -> list[tuple[int, str]]:
        verb = store.visible_ontologies(all=self.all, names=sorted(self.names), owner=self.owner, name=ontology)
        found: list[tuple[int, str]] = await run(verb)
        if ontology is not None and not found:
            raise OntologyNotFound(f"there is no ontology {ontology!r}")
        return found


EVERYTHING = Sight(all=True)
