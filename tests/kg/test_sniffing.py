"""Content first, then the name, then what was said."""

from __future__ import annotations

import pytest

from kg.documents import parsers
from kg.documents.parsers import DOCX, HTML, MARKDOWN, PDF, TEXT
from kg.documents.sniffing import detect, sniff
from kg.errors import Unreadable, Unsupported
from tests.kg import files
from tests.kg.odd_parsers import OddParser


@pytest.mark.parametrize(
    ("data", "name", "declared", "expected"),
    [
        (files.pdf(["x"]), "", "", PDF),
        (files.pdf(["x"]), "download", "text/html", PDF),
        (b"\r\n junk before %PDF-1.4", "a.pdf", "", PDF),
        (files.word(("", "x")), "", "application/zip", DOCX),
        (files.word(("", "x")), "A.DOCX", "", DOCX),
        (b"text", "", "", TEXT),
        (b"text", "a.md", "text/plain", MARKDOWN),
        (b"text", "notes", "text/markdown; charset=utf-8", MARKDOWN),
        (b"text", "notes", "application/x-unknown", TEXT),
        (b"text", "notes.unknown", "application/octet-stream", TEXT),
        (b"<p>text", "a.html", "", HTML),
        (b"<p>text", "", "text/html; charset=utf-8", HTML),
        (b"  <!-- x --> <!DOCTYPE HTML><p>", "", "", HTML),
        (b"<?xml version='1.0'?>\n<html>", "page", "text/plain", HTML),
        (b"<html>", "a.md", "", MARKDOWN),
        (b"<!DOCTYPE html>\n<html lang='en'>\n<head><title>x", "a.md", "", HTML),
        ("Grüße".encode("utf-16"), "a.txt", "", TEXT),
        ("Grüße".encode("cp1252"), "a.txt", "", TEXT),
        (b"\x1b[31mred\x1b[0m and a bell \x07" + b"log line\n" * 500, "a.log", "", TEXT),
    ],
)
def test_types(data: bytes, name: str, declared: str, expected: str) -> None:
    assert sniff(data, name, declared) == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"PK\x03\x04 xl/workbook.xml", "spreadsheet"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\0\0\0\x18ftypmp42", "video/mp4"),
        (b"\0\1\2\3\4" * 100, "binary"),
    ],
)
def test_what_is_not_read(data: bytes, words: str) -> None:
    with pytest.raises(Unsupported, match=words):
        sniff(data, "file")


def test_a_type_can_be_told_that_nobody_reads() -> None:
    assert detect(b"\x89PNG\r\n\x1a\n", "a.png") == "image/png"


def test_empty_and_encrypted() -> None:
    with pytest.raises(Unreadable, match=r"'a\.txt' is empty"):
        sniff(b"", "a.txt")
    with pytest.raises(Unreadable, match="encrypted"):
        sniff(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 512 + "EncryptedPackage".encode("utf-16-le"), "a.docx")


def test_html_named_pdf_by_its_server_is_refused() -> None:
    with pytest.raises(Unsupported, match="should be a PDF, but its content is text"):
        sniff(b"<html>Log in first", "paper", "application/pdf")


def test_types_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsers, "_registered", {})
    monkeypatch.setattr(parsers, "_registered_suffixes", {})
    parsers.register(OddParser("obeys", media_types=("application/epub+zip",)), suffixes=[".epub"])
    parsers.register(OddParser("obeys", media_types=("text/csv",)), suffixes=[".csv"])
    parsers.register(OddParser("obeys", media_types=("application/x-mine",)), suffixes=[".mine"])
    assert sniff(b"PK\x03\x04 whatever", "a.epub") == "application/epub+zip"
    assert sniff(b"a,b\n", "a.csv") == "text/csv"
    assert sniff(b"\0\1\2\3" * 100, "a.mine") == "application/x-mine"
    assert sniff(b"\0\1\2\3" * 100, "a", "application/x-mine") == "application/x-mine"
