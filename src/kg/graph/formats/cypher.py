"""Cypher."""

from __future__ import annotations

import re
from typing import Any

from kg.graph.formats.form import Concept, Relation

_NOT_CYPHER = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Cypher:
    """Statements that can be run again: what is there is changed."""

    media_type, suffix = "text/plain; charset=utf-8", "cypher"

    def begin(self) -> bytes:
        return b"CREATE CONSTRAINT kg_concept IF NOT EXISTS FOR (c:Concept) REQUIRE c.id IS UNIQUE;\n"

    def concept(self, one: Concept) -> bytes:
        values = self._map(
            label=one.label, ontology=one.ontology, type=one.type, description=one.description,
            search_terms=list(one.search_terms), seen_count=one.seen_count,
        )  # fmt: skip
        return f"MERGE (c:Concept {{id: {one.id}}}) SET c += {values};\n".encode()

    def relation(self, one: Relation) -> bytes:
        values = self._map(tier=one.tier, direction=one.direction, confidence=one.confidence, sources=one.sources)
        kind = one.type.replace("`", "``")
        return (
            f"MATCH (a:Concept {{id: {one.from_id}}}), (b:Concept {{id: {one.to_id}}}) "
            f"MERGE (a)-[r:`{kind}` {{id: {one.id}}}]->(b) SET r += {values};\n"
        ).encode()

    def end(self) -> bytes:
        return b""

    def _map(self, **values: Any) -> str:
        return "{" + ", ".join(f"{name}: {_cypher(value)}" for name, value in values.items()) + "}"


def _cypher(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_cypher, value))}]"
    if not isinstance(value, str):
        return repr(value)
    text = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return "'" + _NOT_CYPHER.sub(lambda found: f"\\u{ord(found[0]):04X}", text) + "'"
