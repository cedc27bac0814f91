"""What a document is: by its content, then by its name, then by what was said about it."""

from __future__ import annotations

import re

from kg.documents import guessing, parsers
from kg.documents.decoding import bearable
from kg.documents.names import safe_name, suffix_of
from kg.documents.parsers import DOCX, HTML, MARKDOWN, PDF, TEXT
from kg.errors import Unreadable, Unsupported

#: How a file of a type begins. Those with a space have no media type that anybody could register a parser for.
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\x1f\x8b", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-executable"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
    (b"{\\rtf", "application/rtf"),
    (b"%!PS", "application/postscript"),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
#: Some programs put a number behind it.
_WORD = re.compile(rb"word/document\d*\.xml")
_ZIPPED = (
    (b"xl/workbook.xml", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/presentation.xml", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
)
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]{0,200}\?>\s*)?(?:<!--.{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
#: Markdown may begin with any element, but not so.
_HTML_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html\b[^>]{0,300}>\s*<)?html\b[^>]{0,2000}>\s*<(?:head|body)\b", re.I)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w:.-]{1,40})", re.IGNORECASE)
#: Types whose content has no mark of its own: their name decides.
_TEXTS = frozenset({TEXT, MARKDOWN, HTML})
_VAGUE = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-download", TEXT})
_WORDS = {PDF: "a PDF", DOCX: "a DOCX", TEXT: "text", HTML: "HTML", "application/zip": "a ZIP archive"}


def sniff(data: bytes, name: str = "", declared: str = "") -> str:
    """The media type, one that can be read here; else `Unsupported` says what it is. `declared` may be a Content-Type, whose
    charset is kept where it matters."""
    found = detect(data, name, declared)
    if not parsers.is_known(found):
        raise Unsupported(f"{_called(name)} is {_told(found)}; read are {', '.join(sorted(parsers.suffixes()))}")
    charset = _CHARSET.search(declared) if found in _TEXTS else None
    if charset is None or charset[1].lower() in ("utf-8", "utf8", "us-ascii"):
        return found
    return f"{found}; charset={charset[1].lower()}"


def detect(data: bytes, name: str = "", declared: str = "") -> str:
    """The media type, readable or not. Never looks inside an archive: that is for the process with limits."""
    if not data:
        raise Unreadable(f"{_called(name)} is empty", reason="empty")
    claimed = parsers.suffixes().get(suffix_of(name), "")
    said = declared.partition(";")[0].strip().lower()
    seen = _by_content(data)
    if seen in ("application/zip", ""):
        seen = _from_others(claimed, said) or seen
    if seen:
        _check_claim(seen, claimed, name)
        return seen
    if _is_binary(data):
        raise Unsupported(f"{_called(name)} is binary, of a type that is not known here")
    return _text_type(data, name, claimed, said)


def _by_content(data: bytes) -> str:
    if b"%PDF-" in data[:1024]:
        return PDF
    if data.startswith(b"PK\x03\x04"):
        return DOCX if _WORD.search(data) else next((kind for mark, kind in _ZIPPED if mark in data), "application/zip")
    if data.startswith(_OLE):
        if _ENCRYPTED_PACKAGE in data:
            raise Unreadable("it is encrypted: save it without a password", reason="encrypted")
        return "application/x-ole-storage"
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    if data[4:8] == b"ftyp":
        return "video/mp4"
    return next((kind for mark, kind in _MAGIC if data.startswith(mark)), "")


def _from_others(claimed: str, said: str) -> str:
    """A type that somebody has registered a parser for has no mark that is known here: its name is believed."""
    return next((one for one in (claimed, said) if one and parsers.is_known(one) and one not in {*_TEXTS, PDF, DOCX}), "")


def _check_claim(seen: str, claimed: str, name: str) -> None:
    if claimed and claimed != seen and (claimed in (PDF, DOCX) or seen not in (PDF, DOCX) or claimed in _TEXTS):
        raise Unsupported(f"{_called(name)} is named {suffix_of(name)}, but its content is {_told(seen)}")


def _text_type(data: bytes, name: str, claimed: str, said: str) -> str:
    if (wrong := next((one for one in (claimed, said) if one in (PDF, DOCX) or one.startswith("image/")), "")) != "":
        raise Unsupported(f"{_called(name)} should be {_told(wrong)}, but its content is text")
    if (_HTML_PAGE if claimed == MARKDOWN else _HTML_START).match(_narrow(data[:16_384])):
        return HTML
    if claimed:
        return claimed
    return said if said not in _VAGUE and parsers.is_known(said) else TEXT


def _narrow(head: bytes) -> bytes:
    """UTF-16 as if it were ASCII: tags are."""
    return head.removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff").replace(b"\0", b"")


def _is_binary(data: bytes) -> bool:
    head = data[:65_536]
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\0\0\xfe\xff")) or guessing.utf_16(data):
        return False
    odd = sum(head.count(byte) for byte in (*range(7), *range(14, 27), *range(28, 32)))
    return odd > bearable(head)


def _called(name: str) -> str:
    return repr(safe_name(name)) if name else "the document"


def _told(media_type: str) -> str:
    return _WORDS.get(media_type, media_type)
