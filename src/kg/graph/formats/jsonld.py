"""JSON-LD."""

from __future__ import annotations

import json
from typing import Any

from kg.graph.formats.form import Concept, Relation

_CONTEXT = {
    "@vocab": "urn:kg:",
    "label": "http://www.w3.org/2000/01/rdf-schema#label",
    "from": {"@type": "@id"},
    "to": {"@type": "@id"},
}


class JsonLd:
    media_type, suffix = "application/ld+json", "jsonld"

    def __init__(self) -> None:
        self._first = True

    def begin(self) -> bytes:
        return b'{"@context": ' + json.dumps(_CONTEXT).encode() + b', "@graph": ['

    def concept(self, one: Concept) -> bytes:
        return self._entry({
            "@id": f"urn:kg:concept:{one.id}", "@type": "Concept", "label": one.label, "ontology": one.ontology, "kind": one.type,
            "description": one.description, "searchTerm": list(one.search_terms), "seenCount": one.seen_count,
        })  # fmt: skip

    def relation(self, one: Relation) -> bytes:
        return self._entry({
            "@id": f"urn:kg:relation:{one.id}", "@type": "Relation", "from": f"urn:kg:concept:{one.from_id}",
            "to": f"urn:kg:concept:{one.to_id}", "predicate": one.type, "tier": one.tier, "direction": one.direction,
            "confidence": one.confidence, "sources": one.sources,
        })  # fmt: skip

    def end(self) -> bytes:
        return b"\n]}\n"

    def _entry(self, value: dict[str, Any]) -> bytes:
        comma, self._first = (b"\n" if self._first else b",\n"), False
        return comma + json.dumps(value).encode()
