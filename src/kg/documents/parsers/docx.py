"""DOCX: paragraphs, headings, lists, tables, text boxes and notes in the order of the text, with all changes accepted."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE as RELATED
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

from kg.documents.decoding import clean
from kg.documents.parsers.word_runs import Runs, inside
from kg.documents.parsers.word_styles import Styles
from kg.errors import TooLarge, Unreadable
from kg.parts import Parsed

#: Of everything in the archive. A real one unpacks to a few times its size.
UNPACKED_LIMIT = 256 * 1024 * 1024
MOST_PARTS = 10_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SPACE = re.compile(r"[ \t\xa0]+")
DEEPEST = 20


class DocxParser:
    media_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)

    def parse(self, data: bytes, name: str) -> Parsed:
        _check_archive(data)
        document = docx.Document(io.BytesIO(data))
        blocks = list(_Body(document).blocks())
        return Parsed(clean(_joined(blocks)), clean(_title(document, blocks)), {}, ())


def _check_archive(data: bytes) -> None:
    """Before anything is unpacked: a bomb is told by what it says of itself, and no more than that is ever read from it."""
    if data.startswith(_OLE):
        raise Unreadable("it is encrypted, or a .doc of an old Word: save it as .docx without a password", reason="encrypted")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
            if len(parts) > MOST_PARTS:
                raise TooLarge(f"it has {len(parts):,} parts; {MOST_PARTS:,} are allowed")
            if (total := sum(part.file_size for part in parts)) > UNPACKED_LIMIT:
                raise TooLarge(f"it unpacks to {total:,} bytes; {UNPACKED_LIMIT:,} are allowed")
            if any(part.flag_bits & 1 for part in parts):
                raise Unreadable("it is encrypted: a password is needed to read it", reason="encrypted")
            for part in parts:
                if part.filename.endswith((".xml", ".rels")) and _has_doctype(archive, part):
                    raise Unreadable(f"{part.filename} in it declares entities, which Word never does")
    except zipfile.BadZipFile as error:
        raise Unreadable(f"it is no DOCX, or a damaged one: {error}") from None


def _has_doctype(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """A document type stands before the first element."""
    with archive.open(part) as opened:
        head = opened.read(65_536)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.replace(b"\0", b"")
    return b"<!DOCTYPE" in head or b"<!ENTITY" in head


class _Body:
    """Blocks: kind (`h`, `li`, `tr`, `p`) and text."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._styles = Styles(document.styles.element, self._part(RELATED.NUMBERING))
        self._notes: dict[tuple[str, str], int] = {}

    def blocks(self) -> Iterator[tuple[str, str]]:
        yield from self._inside(self._document.element.body, 0)
        yield from self._foot()

    def _inside(self, body: Any, depth: int) -> Iterator[tuple[str, str]]:
        if depth > DEEPEST:
            raise Unreadable(f"its tables are nested more than {DEEPEST} deep", reason="too_deep")
        carried = ""
        for child in inside(body):
            if child.tag == qn("w:p"):
                runs = Runs(self._notes)
                runs.read(child)
                text, carried = carried + runs.text, ""
                if _goes_on(child):
                    carried = text
                else:
                    yield from self._paragraph(child, text)
                for box in runs.boxes:
                    yield from self._inside(box, depth + 1)
            elif child.tag == qn("w:tbl"):
                yield from self._table(child, depth)
        if carried.strip():
            yield "p", _SPACE.sub(" ", carried).strip()

    def _paragraph(self, element: Any, said: str) -> Iterator[tuple[str, str]]:
        text = _SPACE.sub(" ", said).strip()
        if not text:
            return
        kind = self._styles.kind(element.pPr)
        if kind.heading:
            yield "h", "#" * min(kind.heading, 6) + " " + kind.mark + text.replace("\n", " ")
        elif kind.item:
            yield "li", "  " * kind.depth + kind.mark + text
        else:
            yield "p", text

    def _table(self, table: Any, depth: int) -> Iterator[tuple[str, str]]:
        for row in inside(table):
            if row.tag != qn("w:tr") or row.find(f"{qn('w:trPr')}/{qn('w:del')}") is not None:
                continue
            cells = [self._cell(cell, depth) for cell in inside(row) if cell.tag == qn("w:tc")]
            if any(cells):
                yield "tr", " | ".join(cells)

    def _cell(self, cell: Any, depth: int) -> str:
        """On one line. A table inside it has commas between its cells and semicolons between its rows."""
        said, before = "", ""
        for kind, text in self._inside(cell, depth + 1):
            line = text.replace("\n", " ")
            line = line.replace(" | ", ", ") if kind == "tr" else line
            said += ("; " if kind == before == "tr" else " " if said else "") + line
            before = kind
        return said

    def _foot(self) -> Iterator[tuple[str, str]]:
        """What the notes say that the text refers to. A note in a note is found while they are read."""
        parts = {"footnotes": RELATED.FOOTNOTES, "endnotes": RELATED.ENDNOTES}
        told: dict[str, dict[str, Any]] = {}
        for number, (part, id) in enumerate(_growing(self._notes), 1):
            if part not in told:
                notes = self._part(parts[part])
                told[part] = {} if notes is None else {one.get(qn("w:id"), ""): one for one in notes.iterchildren()}
            if (note := told[part].get(id)) is not None and (text := self._cell(note, 0)):
                yield "li", f"[^{number}]: {text}"

    def _part(self, kind: str) -> Any:
        for related in self._document.part.rels.values():
            if related.reltype == kind and not related.is_external:
                return parse_xml(related.target_part.blob)
        return None


def _growing(notes: dict[tuple[str, str], int]) -> Iterator[tuple[str, str]]:
    done = 0
    while done < len(notes):
        yield from list(notes)[done : (done := len(notes))]


def _goes_on(paragraph: Any) -> bool:
    """Its end was deleted: the next paragraph is the rest of it."""
    return paragraph.pPr is not None and paragraph.pPr.find(f"{qn('w:rPr')}/{qn('w:del')}") is not None


def _joined(blocks: list[tuple[str, str]]) -> str:
    pieces: list[str] = []
    before = ""
    for kind, text in blocks:
        pieces += [("\n" if kind == before and kind in ("li", "tr") else "\n\n") if pieces else "", text]
        before = kind
    return "".join(pieces)


def _title(document: Document, blocks: list[tuple[str, str]]) -> str:
    said = (document.core_properties.title or "").strip()
    return said[:500] or next((text.lstrip("# ") for kind, text in blocks[:50] if kind == "h"), "")
