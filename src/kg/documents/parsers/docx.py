"""DOCX: paragraphs, headings, lists, tables, text boxes and notes in the order of the text, with all changes accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from docx.oxml.ns import nsdecls, qn
from docx.oxml.parser import parse_xml

from kg.documents.decoding import clean
from kg.documents.parsers.word_package import WordPackage
from kg.documents.parsers.word_runs import Runs, inside
from kg.documents.parsers.word_styles import Styles
from kg.errors import Unreadable
from kg.parts import Parsed

_SPACE = re.compile(r"[ \t\xa0]+")
DEEPEST = 20


class DocxParser:
    media_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)

    def parse(self, data: bytes, name: str) -> Parsed:
        package = WordPackage(data)
        blocks = list(_Body(package).blocks())
        return Parsed(clean(_joined(blocks)), clean(_title(package, blocks)), {}, tuple(_left_out(package.main)))


class _Body:
    """Blocks: kind (`h`, `li`, `tr`, `p`) and text."""

    def __init__(self, package: WordPackage) -> None:
        self._package = package
        styles = package.part("styles")
        self._styles = Styles(parse_xml(f"<w:styles {nsdecls('w')}/>") if styles is None else styles, package.part("numbering"))
        self._notes: dict[tuple[str, str], int] = {}

    def blocks(self) -> Iterator[tuple[str, str]]:
        for body in self._package.main.iterchildren(qn("w:body")):
            yield from self._inside(body, 0)
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
        told: dict[str, dict[str, Any]] = {}
        for number, (part, id) in enumerate(_growing(self._notes), 1):
            if part not in told:
                notes = self._package.part(part)
                told[part] = {} if notes is None else {one.get(qn("w:id"), ""): one for one in notes.iterchildren()}
            if (note := told[part].get(id)) is not None and (text := self._cell(note, 0)):
                yield "li", f"[^{number}]: {text}"


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


def _left_out(main: Any) -> Iterator[str]:
    """Other documents in it, which are not looked into."""
    for tag, told in (("w:altChunk", "documents of other formats in it"), ("w:object", "objects of other programs in it")):
        if count := sum(1 for _ in main.iter(qn(tag))):
            yield f"{told} are left out: {count:,}"


def _title(package: WordPackage, blocks: list[tuple[str, str]]) -> str:
    return package.title()[:500] or next((text.lstrip("# ") for kind, text in blocks[:50] if kind == "h"), "")
