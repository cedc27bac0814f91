"""PDF, page by page."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise
from statistics import median

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg.documents.decoding import clean
from kg.documents.parsers.hyphens import join_words
from kg.documents.parsers.pdf_page import PdfPage
from kg.documents.parsers.running_heads import Leaf, without_heads
from kg.errors import TooLarge, Unreadable
from kg.parts import Parsed

MOST_PAGES = 10_000
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]]*$")
#: A line that ends a sentence and is this much shorter than the others ends its paragraph.
_SHORT = 0.8
#: Titles that programs give of themselves.
_NO_TITLE = re.compile(r"(?:untitled|unnamed|unknown|powerpoint presentation|\(anonymous\)|title)?", re.IGNORECASE)
_PROGRAM = re.compile(r"Microsoft (?:Word|PowerPoint|Excel) - ")


class PdfParser:
    media_types = ("application/pdf",)

    def parse(self, data: bytes, name: str) -> Parsed:
        document = _open(data)
        count = len(document)
        if count > MOST_PAGES:
            raise TooLarge(f"it has {count:,} pages; {MOST_PAGES:,} are allowed")
        if document.get_formtype() != raw.FORMTYPE_NONE:
            with suppress(pdfium.PdfiumError):  # then it is read without what was filled in
                document.init_forms()
        found = _Found(count)
        for number in range(count):
            found.read(document, number)
        if not found.leaves:
            raise Unreadable(_nothing(count, found.broken), reason="damaged" if found.broken and not found.empty else "no_text")
        pages = [page for lines in without_heads(found.leaves) if (page := _paragraphs(lines))]
        text = clean(join_words(_joined(pages))).strip()
        return Parsed(text, _title(document), {"pages": count}, (*found.warnings(), *_attached(document)))


class _Found:
    """What the pages have, and what is wrong with them."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.leaves: list[Leaf] = []
        self.empty: list[int] = []
        self.broken: list[int] = []
        self._nameless: list[int] = []
        self._remarks = 0

    def read(self, document: pdfium.PdfDocument, number: int) -> None:
        try:
            page = PdfPage(document, number)
        except pdfium.PdfiumError:
            self.broken.append(number + 1)
            return
        try:
            leaf = page.leaf()
            self._remarks += page.remarks
            if not clean("".join(leaf.lines)).strip():
                self.empty.append(number + 1)
                return
            self.leaves.append(leaf)
            self._nameless += [] if page.letters_are_known() else [number + 1]
        finally:
            page.close()

    def warnings(self) -> list[str]:
        found = []
        if self.empty:
            found.append(f"{len(self.empty):,} of {self._count:,} pages have no text (scanned?): {_numbers(self.empty)}")
        if self.broken:
            found.append(f"{len(self.broken):,} of {self._count:,} pages are damaged: {_numbers(self.broken)}")
        if self._nameless:
            found.append(
                f"{len(self._nameless):,} of {self._count:,} pages have a font that does not say what its letters are; "
                f"their text is probably wrong: {_numbers(self._nameless)}"
            )
        if self._remarks:
            found.append(f"notes that readers have put on its pages are left out: {self._remarks:,}")
        return found


def _open(data: bytes) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise Unreadable("it is encrypted: a password is needed to read it", reason="encrypted") from None
        if error.err_code == raw.FPDF_ERR_SECURITY:
            raise Unreadable("it is encrypted in a way that is not known here", reason="encrypted") from None
        raise Unreadable("it is no PDF, or a damaged one") from None


def _title(document: pdfium.PdfDocument) -> str:
    said = clean(str(document.get_metadata_dict().get("Title") or "")).strip()[:500]
    return "" if _NO_TITLE.fullmatch(said) else _PROGRAM.sub("", said)


def _attached(document: pdfium.PdfDocument) -> list[str]:
    count = document.count_attachments()
    return [f"files that are attached to it are left out: {count:,}"] if count > 0 else []


def _joined(pages: list[str]) -> str:
    """A word or a sentence that goes on over the page is one."""
    pieces = pages[:1]
    for before, page in pairwise(pages):
        goes_on = page[:1].islower() and not _SENTENCE_END.search(before)
        pieces += ["\n" if goes_on else "\n\n", page]
    return "".join(pieces)


def _paragraphs(lines: list[str]) -> str:
    lengths = [len(line) for line in lines if line]
    usual = median(lengths) if lengths else 0
    joined: list[str] = []
    for line in lines:
        joined.append(line)
        if line and len(line) < usual * _SHORT and _SENTENCE_END.search(line):
            joined.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(joined)).strip()


def _nothing(count: int, broken: list[int]) -> str:
    if count == 0:
        return "it has no pages"
    if broken:
        return f"none of its {count:,} pages can be read"
    return f"there is no text on any of its pages ({count:,}): they are scanned images, which need a text recognition first"


def _numbers(pages: list[int]) -> str:
    return ", ".join(map(str, pages[:10])) + (", …" if len(pages) > 10 else "")
