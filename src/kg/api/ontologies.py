"""`/ontologies`. What is outside a caller's scope is not found."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import Field

from kg.access.reach import Reach
from kg.api.documents import READ, WRITE
from kg.errors import OntologyNotFound
from kg.ontologies.ontologies import Ontologies, Ontology, State
from lanework.api import Forbidden, Routes, Who
from lanework.api.fields import Body, Words

Name = Annotated[str, Field(min_length=1, max_length=100)]
Named = Annotated[str, Path(min_length=1, max_length=100)]


class NewOntology(Body):
    name: Name
    description: Words = ""


class OntologyChange(Body):
    """`pinned`: it grows, and nothing reshapes it; `frozen`: it takes no documents."""

    state: State | None = None
    description: Words | None = None


class OntologyRoutes:
    def __init__(self, ontologies: Ontologies) -> None:
        self.ontologies = ontologies

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("GET", "/ontologies", self.find, needs=READ, tags=["ontologies"])
        add("POST", "/ontologies", self.create, needs=WRITE, status_code=201, tags=["ontologies"])
        add("GET", "/ontologies/{name}", self.show, needs=READ, tags=["ontologies"])
        add("PATCH", "/ontologies/{name}", self.change, needs=WRITE, tags=["ontologies"])
        add("DELETE", "/ontologies/{name}", self.delete, needs=WRITE, status_code=204, tags=["ontologies"])

    async def find(self, who: Who) -> list[Ontology]:
        """All that the caller may see, by name."""
        return await self.ontologies.find(Reach.of(who, READ))

    async def create(self, who: Who, ontology: NewOntology) -> Ontology:
        """An empty one; a document that names an unknown ontology makes it, too."""
        if not Reach.of(who, WRITE).may_make(ontology.name):
            raise Forbidden(f"{WRITE} for the ontology {ontology.name!r}")
        return await self.ontologies.create(ontology.name, ontology.description, by=who.name)

    async def show(self, who: Who, name: Named) -> Ontology:
        """One ontology, with how many documents and concepts it has."""
        return await self.ontologies.show(name, Reach.of(who, READ))

    async def change(self, who: Who, name: Named, change: OntologyChange) -> Ontology:
        """Freezes, pins or activates it, or describes it anew."""
        await self._mine(who, name)
        return await self.ontologies.change(name, state=change.state, description=change.description, by=who.name)

    async def delete(self, who: Who, name: Named) -> None:
        """With all its documents."""
        await self._mine(who, name)
        await self.ontologies.delete(name, by=who.name)

    async def _mine(self, who: Who, name: str) -> None:
        """With the scope `own`: whoever has made it."""
        ontology = await self.ontologies.show(name)
        if not Reach.of(who, WRITE).covers(name, ontology.created_by):
            raise OntologyNotFound(f"there is no ontology {name!r}")
