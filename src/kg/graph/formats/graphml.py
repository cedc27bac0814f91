"""GraphML."""

from __future__ import annotations

import re
from typing import Any
from xml.sax.saxutils import escape

from kg.graph.formats.form import Concept, Relation

#: What XML cannot have in any form.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
