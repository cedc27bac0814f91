"""One page of a PDF: its lines, which of them stand in its margins, and what was filled in or noted on it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import pairwise

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg.documents.parsers.running_heads import Leaf, Margin

#: Letters of a page that are looked at for whether their font says what they are, and the share that may be without.
_LOOKED_AT, _NAMELESS = 2000, 0.3
#: The share of a page's height that is margin, above and below; and how many lines of each are looked at.
_MARGIN, _MOST_LINES = 0.12, 4
#: What is larger than the page's text is a heading, wherever it stands. (Of its pieces many are lower than its letters are: `an`.)
_USUAL, _LARGE = 0.8, 1.3
#: Pieces of a line with more between them than so many times its height are apart. Letters are half as wide as they are high.
_GAP, _WIDE = 2.5, 1.1
_MOST_RECTS, _MOST_NOTES = 5000, 1000
_FILLED_IN = frozenset({raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX})
_PASSWORD = 1 << 13
_REMARKS = frozenset({raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_STRIKEOUT,
                      raw.FPDF_ANNOT_SQUIGGLY, raw.FPDF_ANNOT_CARET, raw.FPDF_ANNOT_STAMP})  # fmt: skip

_Box = tuple[float, float, float, float]  # left, bottom, right, top


class PdfPage:
    """Close it. `remarks`: how many notes of readers are on it."""

    def __init__(self, document: pdfium.PdfDocument, number: int) -> None:
        self._forms = document.formenv
        self._page = document[number]
        self._turned = self._page.get_rotation() != 0
        if self._turned:
            self._page.set_rotation(0)  # PDFium tells the lines of a turned page from the last to the first
        self._text = self._page.get_textpage()
        self.remarks = 0

    def close(self) -> None:
        self._text.close()
        self._page.close()

    def leaf(self) -> Leaf:
        lines = [line.strip() for line in self._said().replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        return Leaf([*lines, *self._written()], [] if self._turned or not any(lines) else list(self._margins()))

    def letters_are_known(self) -> bool:
        count = min(self._text.count_chars(), _LOOKED_AT)
        nameless = sum(1 for place in range(count) if raw.FPDFText_HasUnicodeMapError(self._text, place) == 1)
        return bool(nameless <= count * _NAMELESS)

    def _said(self) -> str:
        whole: str = self._text.get_text_range()
        if self._turned:
            return whole
        # without what is outside of the page. But lines that run upwards are glued together in it
        inside: str = self._text.get_text_bounded()
        return whole if _letters(whole) == _letters(inside) else inside

    def _margins(self) -> Iterator[Margin]:
        left, bottom, right, top = self._page.get_bbox()
        found: list[_Box] = [self._text.get_rect(place) for place in range(min(self._text.count_rects(), _MOST_RECTS))]
        if not found:
            return
        large = sorted(up - down for _, down, _, up in found)[int((len(found) - 1) * _USUAL)] * _LARGE
        edge = (top - bottom) * _MARGIN
        small = [box for box in found if 0 < box[3] - box[1] <= large]
        for side, boxes in (
            ("t", sorted((one for one in small if one[1] > top - edge), key=lambda one: -one[1])),
            ("b", sorted((one for one in small if one[3] < bottom + edge), key=lambda one: one[1])),
        ):
            for row in _rows(boxes)[:_MOST_LINES]:
                low, high = min(box[1] for box in row), max(box[3] for box in row)
                slack = (high - low) / 10  # or letters of the next line reach into it
                said = self._text.get_text_bounded(left, low + slack, right, high - slack)
                apart = _is_apart(row, high - low, len(said))
                yield from (Margin(side, line.strip(), apart) for line in said.splitlines() if line.strip())

    def _written(self) -> Iterator[str]:
        """What was filled into its form, and typed on it."""
        told: set[str] = set()
        for place in range(min(raw.FPDFPage_GetAnnotCount(self._page), _MOST_NOTES)):
            note = raw.FPDFPage_GetAnnot(self._page, place)
            if not note:
                continue
            try:
                kind = raw.FPDFAnnot_GetSubtype(note)
                line = self._line(note, kind)
                self.remarks += kind in _REMARKS and bool(_contents(note))
            finally:
                raw.FPDFPage_CloseAnnot(note)
            if line and line not in told:
                told.add(line)
                yield line

    def _line(self, note: raw.FPDF_ANNOTATION, kind: int) -> str:
        if kind == raw.FPDF_ANNOT_FREETEXT:
            return _contents(note)
        if kind != raw.FPDF_ANNOT_WIDGET or self._forms is None:
            return ""
        if raw.FPDFAnnot_GetFormFieldType(self._forms, note) not in _FILLED_IN:
            return ""
        if raw.FPDFAnnot_GetFormFieldFlags(self._forms, note) & _PASSWORD:
            return ""
        value = _string(raw.FPDFAnnot_GetFormFieldValue, self._forms, note)
        called = _string(raw.FPDFAnnot_GetFormFieldAlternateName, self._forms, note)
        return f"{called}: {value}" if called and value else value


def _rows(boxes: list[_Box]) -> list[list[_Box]]:
    """Pieces of text that stand beside each other, as one."""
    rows: list[list[_Box]] = []
    for box in boxes:
        beside = rows[-1][0] if rows else box
        if rows and min(beside[3], box[3]) - max(beside[1], box[1]) > (box[3] - box[1]) / 2:
            rows[-1].append(box)
        else:
            rows.append([box])
    return rows


def _is_apart(row: list[_Box], height: float, letters: int) -> bool:
    """Between its pieces; or, where PDFium takes them for one, by how much longer it is than its letters are."""
    ordered = sorted(row)
    if any(after[0] - before[2] > height * _GAP for before, after in pairwise(ordered)):
        return True
    return max(box[2] for box in row) - ordered[0][0] > letters * height * _WIDE


def _letters(text: str) -> str:
    return "".join(text.replace("\x02", "").replace("\ufffe", "").split())


def _contents(note: raw.FPDF_ANNOTATION) -> str:
    return _string(raw.FPDFAnnot_GetStringValue, note, b"Contents")


def _string(function: object, *given: object) -> str:
    """On one line, of a function of PDFium that fills a buffer with UTF-16."""
    size = function(*given, None, 0)  # type: ignore[operator]
    if not 2 < size < 2_000_000:
        return ""
    buffer = ctypes.create_string_buffer(size)
    function(*given, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)  # type: ignore[operator]
    return " ".join(buffer.raw[: size - 2].decode("utf-16-le", "replace").split())
