"""Two tables in a zip."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Sequence
from typing import Any

from kg.graph.formats.form import Concept, Relation

#: What spreadsheets take for the beginning of a formula.
_FORMULA = re.compile("[=+\\-@\t\r\n\uff0b\uff0d\uff1d\uff20]")


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
