"""Forms of an export. Labels are anybody's texts: each form has its own way to keep them from being more than text."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from xml.sax.saxutils import escape

#: What XML cannot have in any form.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: What spreadsheets take for the beginning of a formula.
_FORMULA = re.compile("[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")
_NOT_CYPHER = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Concept:
    id: int
    ontology: str
    label: str
    type: str
    description: str
    search_terms: Sequence[str]
    seen_count: int


@dataclass(frozen=True, slots=True)
class Relation:
    id: int
    from_id: int
    to_id: int
    type: str
    tier: str
    direction: str
    confidence: float
    sources: int


class Form(Protocol):
    """All concepts, then all relations. Every method answers the bytes that come next."""

    media_type: str
    suffix: str

    def begin(self) -> bytes: ...

    def concept(self, one: Concept) -> bytes: ...

    def relation(self, one: Relation) -> bytes: ...

    def end(self) -> bytes: ...


class GraphML:
    media_type, suffix = "application/graphml+xml", "graphml"
    KEYS = (
        ("node", "label", "string"), ("node", "ontology", "string"), ("node", "type", "string"), ("node", "description", "string"),
        ("node", "search_terms", "string"), ("node", "seen_count", "int"),
        ("edge", "relation", "string"), ("edge", "tier", "string"), ("edge", "confidence", "double"), ("edge", "sources", "int"),
        ("edge", "both_ways", "boolean"),
    )  # fmt: skip

    def begin(self) -> bytes:
        keys = "".join(f'<key id="{name}" for="{of}" attr.name="{name}" attr.type="{kind}"/>\n' for of, name, kind in self.KEYS)
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
            f'{keys}<graph id="kg" edgedefault="directed">\n'
        ).encode()

    def concept(self, one: Concept) -> bytes:
        data = self._data(
            label=one.label, ontology=one.ontology, type=one.type, description=one.description,
            search_terms="; ".join(one.search_terms), seen_count=one.seen_count,
        )  # fmt: skip
        return f'<node id="c{one.id}">{data}</node>\n'.encode()

    def relation(self, one: Relation) -> bytes:
        # As data: readers refuse a graph that has edges with a direction and edges without.
        both = "true" if one.direction == "both" else "false"
        data = self._data(relation=one.type, tier=one.tier, confidence=one.confidence, sources=one.sources, both_ways=both)
        return f'<edge id="r{one.id}" source="c{one.from_id}" target="c{one.to_id}">{data}</edge>\n'.encode()

    def end(self) -> bytes:
        return b"</graph>\n</graphml>\n"

    def _data(self, **values: Any) -> str:
        return "".join(f'<data key="{name}">{_xml(str(value))}</data>' for name, value in values.items() if value != "")


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text), {"\r": "&#13;"})


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


class Csv:
    """A zip of concepts.csv and relations.csv. A cell that a spreadsheet would run begins with an apostrophe."""

    media_type, suffix = "application/zip", "zip"
    CONCEPTS = ("id", "ontology", "label", "type", "description", "search_terms", "seen_count")
    RELATIONS = ("id", "from_id", "to_id", "type", "tier", "direction", "confidence", "sources")

    def __init__(self) -> None:
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED)  # type: ignore[call-overload]
        self._file: Any = None
        self._relating = False

    def begin(self) -> bytes:
        return self._open("concepts.csv", self.CONCEPTS)

    def concept(self, one: Concept) -> bytes:
        return self._row([one.id, one.ontology, one.label, one.type, one.description, "; ".join(one.search_terms), one.seen_count])

    def relation(self, one: Relation) -> bytes:
        begun = self._open("relations.csv", self.RELATIONS) if not self._relating else b""
        return begun + self._row([one.id, one.from_id, one.to_id, one.type, one.tier, one.direction, one.confidence, one.sources])

    def end(self) -> bytes:
        begun = self._open("relations.csv", self.RELATIONS) if not self._relating else b""
        self._file.close()
        self._zip.close()
        return begun + self._sink.take()

    def _open(self, name: str, columns: Sequence[str]) -> bytes:
        if self._file is not None:
            self._file.close()
        self._file = self._zip.open(name, "w", force_zip64=True)
        self._relating = columns is self.RELATIONS
        return self._row(columns)

    def _row(self, cells: Sequence[Any]) -> bytes:
        text = io.StringIO()
        csv.writer(text).writerow([_cell(one) if isinstance(one, str) else one for one in cells])
        self._file.write(text.getvalue().encode())
        return self._sink.take()


def _cell(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


class _Sink:
    """A file that cannot be wound back: what was written is taken from it."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken
