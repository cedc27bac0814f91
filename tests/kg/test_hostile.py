"""Files made to hurt: each costs at most its limits and is a clear error; whoever asked goes on (promise 27)."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from kg.adapters.loader import KgLoader
from kg.documents.limits import ParseLimits
from kg.documents.parsers import DOCX, HTML, PDF
from kg.documents.parsing import parse
from kg.documents.sniffing import sniff
from kg.errors import TooLarge, Unreadable, Unsupported
from tests.kg import files

LIMITS = ParseLimits(cpu=10, wall=110, memory=192 << 20)
LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a0 "lol">%s]>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&a20;</w:t></w:r></w:p></w:body></w:document>
""" % b"".join(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 21))
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY file SYSTEM "file:///etc/passwd">]>
<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&file;</w:t></w:r></w:p></w:body></w:document>
"""
DEEP_XML = (
    b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    + b"<w:tbl><w:tr><w:tc>" * 100_000
    + b"</w:tc></w:tr></w:tbl>" * 100_000
    + b"</w:body></w:document>"
)
TREE = [b"<< /Type /Pages /Count 1 /Kids [%d 0 R] >>" % (n + 3) for n in range(20_000)]

CATALOG = b"<< /Type /Catalog /Pages 2 0 R >>"


def word() -> bytes:
    return files.word(("", "x"))


#: Media type, how it is made, and what is said about it.
BOMBS: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "docx: says it unpacks to 4 GB": (DOCX, lambda: files.with_false_size(word(), files.DOCUMENT, 0xFFFFFFF0), "unpacks to"),
    "docx: one part a thousand times": (
        DOCX, lambda: files.with_repeated_entry(files.word_with(b" " * 1_000_000), files.DOCUMENT, 1000), "unpacks to 1,001,",
    ),
    "docx: many parts": (DOCX, lambda: files.with_repeated_entry(word(), files.DOCUMENT, 20_000), "20,017 parts"),
    "docx: unpacks to more than it says": (
        DOCX, lambda: files.with_false_size(files.word_with(b"<" + b" " * 20_000_000), files.DOCUMENT, 1000), "damaged",
    ),
    "docx: a billion laughs": (DOCX, lambda: files.word_with(LAUGHS), "document.xml in it declares entities"),
    "docx: laughs in another part": (DOCX, lambda: files.word_with(LAUGHS, "word/styles.xml"), "styles.xml in it declares"),
    "docx: a file from outside": (DOCX, lambda: files.word_with(OUTSIDE), "entities"),
    "docx: deep tables": (DOCX, lambda: files.word_with(DEEP_XML), "Excessive depth"),
    "docx: no document in it": (DOCX, lambda: files.word_with(b""), "cannot be read"),
    "pdf: many pages": (PDF, lambda: files.pdf(["x"], same=50_000), "50,000 pages"),
    "pdf: says that it has many pages": (PDF, lambda: files.pdf([""], count=2_000_000_000), "no text"),
    "pdf: deep arrays": (PDF, lambda: files.pdf_of([b"<< /Type /Catalog /Pages " + b"[" * 200_000 + b">>"]), "damaged"),
    "pdf: a deep tree of pages": (PDF, lambda: files.pdf_of([CATALOG, *TREE]), "can be read"),
    "pdf: a ring of pages": (PDF, lambda: files.pdf_of([CATALOG, b"<< /Type /Pages /Count 9 /Kids [2 0 R] >>"]), "can be read"),
    "pdf: a stream of 256 MB": (PDF, lambda: files.pdf_with_stream(files.zeros(256 << 20)), "needs more than 192 MiB"),
    "pdf: a stream in a stream": (PDF, lambda: files.pdf_with_stream(zlib.compress(files.zeros(64 << 20))), "no text"),
    "html: a million elements deep": (HTML, lambda: b"<div>" * 1_000_000, "nested more than 20,000 deep"),
    "html: fonts in fonts": (HTML, lambda: b"".join(b"<font a=%d>" % n for n in range(30_000)), "nested more than 20,000 deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_a_clear_error(name: str) -> None:
    media_type, make, words = BOMBS[name]
    with pytest.raises(Unreadable) as told:
        asyncio.run(parse(make(), media_type, f"../../{name}\x1b", limits=LIMITS))
    assert words in str(told.value)
    assert "passwd" not in str(told.value)
    assert str(told.value).startswith(f"'{name}'"), "the name as it is shown, with what happened behind it"


def test_a_gigabyte_is_not_read_to_be_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "line.txt"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    monkeypatch.setattr(Path, "read_bytes", lambda self: pytest.fail("it was read"))
    with pytest.raises(TooLarge, match=r"1,073,741,824 bytes; 50,000,000 are allowed"):
        KgLoader().load(path)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.docx", files.pdf(["x"])),
        ("a.pdf", files.word(("", "x"))),
        ("a.txt", files.pdf(["x"])),
        ("a.md", b"\x89PNG\r\n\x1a\n" + b"\0" * 100),
        ("a.pdf", b"<html><p>Not found"),
        ("a.docx", b"just text"),
        ("a.docx", b"PK\x03\x04 some other archive"),
        ("a.txt", b"\x7fELF\x02\x01\x01" + b"\0" * 100),
        ("a.html", bytes(range(256)) * 20),
        ("a.exe", b"MZ" + bytes(range(32)) * 20),
        ("a", b"\x1f\x8b\x08\0\0\0"),
    ],
)
def test_a_name_that_lies(name: str, data: bytes) -> None:
    with pytest.raises(Unsupported, match=name):
        sniff(data, name)
