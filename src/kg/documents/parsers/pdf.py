"""PDF, page by page."""

from __future__ import annotations

import re
from itertools import pairwise
from statistics import median

import pypdfium2 as pdfium
from pypdfium2 import raw

from kg.documents.decoding import clean
from kg.errors import TooLarge, Unreadable
from kg.parts import Parsed

MOST_PAGES = 10_000
#: A word that goes on below. PDFium says U+0002 or U+FFFE for a hyphen that it takes for one of these.
_HYPHEN = re.compile(r"(?<=[^\W\d_])(?:[\u0002\ufffe\u00ad]\s?|[-\u2010]\n)(?=[a-zß-öø-ÿ])")
#: Before a capital it belongs to the word: Anglo-Saxon.
_KEPT_HYPHEN = re.compile(r"(?<=[^\W_])[\u0002\ufffe](?=[^\W_])")
_CUT_WORD = re.compile(r"(?<=[^\W\d_])[-\u2010]$")
_GOES_ON = re.compile(r"[a-zß-öø-ÿ]")
_SENTENCE_END = re.compile(r"[.!?:…][\"'”’)\]]*$")
#: A line that ends a sentence and is this much shorter than the others ends its paragraph.
_SHORT = 0.8
#: Letters of a page that are looked at for whether their font says what they are, and the share that may be without.
_LOOKED_AT, _NAMELESS = 2000, 0.3


class PdfParser:
    media_types = ("application/pdf",)

    def parse(self, data: bytes, name: str) -> Parsed:
        document = _open(data)
        count = len(document)
        if count > MOST_PAGES:
            raise TooLarge(f"it has {count:,} pages; {MOST_PAGES:,} are allowed")
        pages: list[str] = []
        empty: list[int] = []
        broken: list[int] = []
        nameless: list[int] = []
        for number in range(count):
            try:
                text, known = _page(document, number)
            except pdfium.PdfiumError:
                broken.append(number + 1)
                continue
            if text:
                pages.append(text)
                nameless += [] if known else [number + 1]
            else:
                empty.append(number + 1)
        if not pages:
            raise Unreadable(_nothing(count, broken), reason="damaged" if broken and not empty else "no_text")
        title = clean(str(document.get_metadata_dict().get("Title") or "")).strip()[:500]
        return Parsed(_joined(pages), title, {"pages": count}, tuple(_warnings(count, empty, broken, nameless)))


def _open(data: bytes) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise Unreadable("it is encrypted: a password is needed to read it", reason="encrypted") from None
        if error.err_code == raw.FPDF_ERR_SECURITY:
            raise Unreadable("it is encrypted in a way that is not known here", reason="encrypted") from None
        raise Unreadable("it is no PDF, or a damaged one") from None


def _page(document: pdfium.PdfDocument, number: int) -> tuple[str, bool]:
    """Its text, and whether its fonts say what their letters are."""
    page = document[number]
    turned = page.get_rotation() != 0
    if turned:
        page.set_rotation(0)  # PDFium tells the lines of a turned page from the last to the first
    textpage = page.get_textpage()
    try:
        # the other one glues lines together that run from bottom to top
        said = textpage.get_text_range() if turned else textpage.get_text_bounded()
        known = _letters_are_known(textpage)
    finally:
        textpage.close()
        page.close()
    said = said.replace("\r\n", "\n").replace("\r", "\n")
    said = _KEPT_HYPHEN.sub("-", _HYPHEN.sub("", said))
    return clean(_paragraphs(said)).strip(), known


def _letters_are_known(textpage: pdfium.PdfTextPage) -> bool:
    count = min(textpage.count_chars(), _LOOKED_AT)
    nameless = sum(1 for place in range(count) if raw.FPDFText_HasUnicodeMapError(textpage, place) == 1)
    return bool(nameless <= count * _NAMELESS)


def _joined(pages: list[str]) -> str:
    """A word or a sentence that goes on over the page is one."""
    pieces = pages[:1]
    for before, page in pairwise(pages):
        if not _GOES_ON.match(page) or _SENTENCE_END.search(before):
            pieces.append("\n\n")
        elif _CUT_WORD.search(before):
            pieces[-1] = pieces[-1][:-1]
        else:
            pieces.append("\n")
        pieces.append(page)
    return "".join(pieces)


def _paragraphs(text: str) -> str:
    lines = [line.strip() for line in text.split("\n")]
    lengths = [len(line) for line in lines if line]
    usual = median(lengths) if lengths else 0
    joined: list[str] = []
    for line in lines:
        joined.append(line)
        if line and len(line) < usual * _SHORT and _SENTENCE_END.search(line):
            joined.append("")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(joined))


def _nothing(count: int, broken: list[int]) -> str:
    if count == 0:
        return "it has no pages"
    if broken:
        return f"none of its {count:,} pages can be read"
    return f"there is no text on any of its pages ({count:,}): they are scanned images, which need a text recognition first"


def _warnings(count: int, empty: list[int], broken: list[int], nameless: list[int]) -> list[str]:
    found = []
    if empty:
        found.append(f"{len(empty):,} of {count:,} pages have no text (scanned?): {_numbers(empty)}")
    if broken:
        found.append(f"{len(broken):,} of {count:,} pages are damaged: {_numbers(broken)}")
    if nameless:
        found.append(
            f"{len(nameless):,} of {count:,} pages have a font that does not say what its letters are; "
            f"their text is probably wrong: {_numbers(nameless)}"
        )
    return found


def _numbers(pages: list[int]) -> str:
    return ", ".join(map(str, pages[:10])) + (", …" if len(pages) > 10 else "")
