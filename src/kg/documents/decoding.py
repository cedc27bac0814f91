"""Bytes to characters that can be stored: no NUL, no lone surrogate, one kind of line end."""

from __future__ import annotations

import codecs
import re

from kg.errors import Unreadable

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins like the one of UTF-16: it is looked for first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
#: Encodings that a page may name. Python knows others (idna, unicode_escape) that are none of the web's.
_NAMED = re.compile(r"(utf-8|ascii|iso8859|cp\d|koi8|shift_jis|euc|big5|gb|mac|tis)")
_UNWANTED = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x0c\x85\u2028]")
#: More of it than this is no text, whatever its name says.
_NUL_SHARE = 0.001


def decode(data: bytes, *, named: str = "") -> tuple[str, list[str]]:
    """The text and what was doubtful about it. `named` is what the document itself says about its encoding."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return _with_losses(data[len(bom) :], encoding)
    if data.count(0) > len(data) * _NUL_SHARE:
        raise Unreadable("it is no text: there are NUL bytes in it", reason="binary")
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        where = error.start
    if codec := _codec(named):
        return _with_losses(data, codec)
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text, [f"not UTF-8 (byte {where:,}): read as Windows-1252; some characters may be wrong"]


def clean(text: str) -> str:
    """What PostgreSQL can store and offsets can count on."""
    text = _LINE_ENDS.sub("\n", text).replace("\u2029", "\n\n")
    return _SURROGATE.sub("\ufffd", _UNWANTED.sub("", text))


def _with_losses(data: bytes, encoding: str) -> tuple[str, list[str]]:
    try:
        return data.decode(encoding), []
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        return text, [f"not all of it is {encoding}: {text.count(chr(0xFFFD)):,} characters are lost"]


def _codec(named: str) -> str:
    try:
        name = codecs.lookup(named.strip()).name if named and "\0" not in named else ""
    except (LookupError, ValueError):
        return ""
    # the web's latin-1 is Windows-1252; UTF-8 was tried
    return "cp1252" if name == "iso8859-1" else name if _NAMED.match(name) and name != "utf-8" else ""
