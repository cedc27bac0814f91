"""Export: the graph as a file, read page by page. No transaction is held while somebody downloads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Literal

from kg._store import reading as store
from kg.graph.formats import Concept, Csv, Cypher, Form, GraphML, JsonLd, Relation
from kg.graph.sight import Run

Format = Literal["graphml", "jsonld", "csv", "cypher"]
FORMS: dict[Format, type[GraphML] | type[JsonLd] | type[Csv] | type[Cypher]] = {
    "graphml": GraphML, "jsonld": JsonLd, "csv": Csv, "cypher": Cypher,
}  # fmt: skip
PAGE = 1000


class Seen:
    """Ids, a bit each."""

    def __init__(self) -> None:
        self._bits = bytearray()

    def add(self, id: int) -> None:
        place = id >> 3
        if place >= len(self._bits):
            self._bits.extend(bytes(place + 4096 - len(self._bits)))
        self._bits[place] |= 1 << (id & 7)

    def __contains__(self, id: int) -> bool:
        return id >> 3 < len(self._bits) and bool(self._bits[id >> 3] & 1 << (id & 7))


async def export(run: Run, format: Format, ontologies: Sequence[tuple[int, str]]) -> AsyncIterator[bytes]:
    """A relation whose end came or went while the export ran is left out: what comes is a graph."""
    form: Form = FORMS[format]()
    seen = Seen()
    yield form.begin()
    for ontology, name in ontologies:
        after = 0
        while page := await run(store.export_concepts(ontology, after, PAGE)):
            after = page[-1][0]
            for row in page:
                seen.add(row[0])
            yield b"".join(form.concept(Concept(row[0], name, *row[1:])) for row in page)
    for ontology, _ in ontologies:
        after = 0
        while page := await run(store.export_relations(ontology, after, PAGE)):
            after = page[-1][0]
            yield b"".join(form.relation(Relation(*row)) for row in page if row[1] in seen and row[2] in seen)
    yield form.end()
