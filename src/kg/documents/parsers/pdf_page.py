"""One page of a PDF: its lines, which of them stand in its margins, and what was filled in or noted on it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg.documents.parsers.running_heads import Leaf

#: Letters of a page that are looked at for whether their font says what they are, and the share that may be without.
_LOOKED_AT, _NAMELESS = 2000, 0.3
#: The share of a page's height that is margin, above and below; and how many lines of each are looked at.
_MARGIN, _MOST_LINES = 0.12, 4
#: What is larger than the page's text is a heading, wherever it stands. (Of its pieces many are lower than its letters are: `an`.)
_USUAL, _LARGE = 0.8, 1.3
_MOST_RECTS, _MOST_NOTES = 5000, 1000
_FILLED_IN = frozenset({raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX})
_PASSWORD = 1 << 13
_REMARKS = frozenset({raw.FPDF_ANNOT_TEXT, raw.FPDF_ANNOT_HIGHLIGHT, raw.FPDF_ANNOT_UNDERLINE, raw.FPDF_ANNOT_STRIKEOUT,
                      raw.FPDF_ANNOT_SQUIGGLY, raw.FPDF_ANNOT_CARET, raw.FPDF_ANNOT_STAMP})  # fmt: skip


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

    def _margins(self) -> Iterator[tuple[str, str]]:
        left, bottom, right, top = self._page.get_bbox()
        found = [self._text.get_rect(place) for place in range(min(self._text.count_rects(), _MOST_RECTS))]
        if not found:
            return
        large = sorted(up - down for _, down, _, up in found)[int(len(found) * _USUAL)] * _LARGE
        edge = (top - bottom) * _MARGIN
        small = [(down, up) for _, down, _, up in found if 0 < up - down <= large]
        for side, rows in (
            ("t", sorted((one for one in small if one[0] > top - edge), reverse=True)),
            ("b", sorted(one for one in small if one[1] < bottom + edge)),
        ):
            for low, high in _rows(rows)[:_MOST_LINES]:
                slack = (high - low) / 10  # or letters of the next line reach into it
                said = self._text.get_text_bounded(left, low + slack, right, high - slack)
                yield from ((side, line.strip()) for line in said.splitlines() if line.strip())

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


def _rows(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Pieces of text that stand beside each other, as one."""
    rows: list[tuple[float, float]] = []
    for low, high in spans:
        if rows and min(rows[-1][1], high) - max(rows[-1][0], low) > (high - low) / 2:
            rows[-1] = min(rows[-1][0], low), max(rows[-1][1], high)
        else:
            rows.append((low, high))
    return rows


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
