"""DOCX: paragraphs, headings, lists and tables in the order of the text."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import docx
from docx.document import Document
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph

from kg.documents.decoding import clean
from kg.errors import TooLarge, Unreadable
from kg.parts import Parsed

#: Of everything in the archive. A real one unpacks to a few times its size.
UNPACKED_LIMIT = 256 * 1024 * 1024
MOST_PARTS = 10_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
DEEPEST = 20


class DocxParser:
    media_types = ("application/vnd.openxmlformats-officedocument.wordprocessingml.document",)

    def parse(self, data: bytes, name: str) -> Parsed:
        _check_archive(data)
        document = docx.Document(io.BytesIO(data))
        styles = {style.style_id: style.name or "" for style in document.styles if style.style_id}
        blocks = list(_blocks(document.element.body, document, styles, 0))
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


def _blocks(body: Any, document: Document, styles: dict[str, str], depth: int) -> Iterator[tuple[str, str]]:
    """Kind (`h`, `li`, `tr`, `p`) and text."""
    if depth > DEEPEST:
        raise Unreadable(f"its tables are nested more than {DEEPEST} deep", reason="too_deep")
    for child in body.iterchildren():
        if child.tag == qn("w:p"):
            yield from _paragraph(child, document, styles)
        elif child.tag == qn("w:tbl"):
            for row in child.iterchildren(qn("w:tr")):
                cells = [_cell(cell, document, styles, depth) for cell in row.iterchildren(qn("w:tc"))]
                if any(cells):
                    yield "tr", " | ".join(cells)
        elif child.tag == qn("w:sdt"):  # a content control, such as a table of contents or a form's field
            for content in child.iterchildren(qn("w:sdtContent")):
                yield from _blocks(content, document, styles, depth + 1)


def _paragraph(element: Any, document: Document, styles: dict[str, str]) -> Iterator[tuple[str, str]]:
    text = re.sub(r"[ \t\xa0]+", " ", Paragraph(element, document._body).text).strip()
    if not text:
        return
    properties = element.pPr
    style = styles.get(properties.style, "") if properties is not None and properties.style else ""
    if heading := _HEADING.match(style):
        yield "h", "#" * min(int(heading[1]), 6) + " " + text.replace("\n", " ")
    elif style == "Title":
        yield "h", "# " + text.replace("\n", " ")
    elif style.startswith("List") or (properties is not None and properties.numPr is not None):
        yield "li", "- " + text
    else:
        yield "p", text


def _cell(cell: Any, document: Document, styles: dict[str, str], depth: int) -> str:
    return " ".join(text.replace("\n", " ") for _, text in _blocks(cell, document, styles, depth + 1))


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
