"""Bytes to characters that can be stored: no NUL, no lone surrogate, one kind of line end."""

from __future__ import annotations

import codecs
import re
from contextvars import ContextVar

from kg.documents import guessing
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
#: Control characters, and what nobody sees: soft hyphens, spaces of no width, marks of direction, tags. They divide words for those
#: who search, and hide text from those who read.
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f\xad\u034f\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)
#: Joiners mean something in Persian, in Hindi and in emoji; beside a Latin letter they are as good as nothing.
_JOINER = re.compile("(?<=[\x00-\u024f])[\u200c\u200d]+|[\u200c\u200d]+(?=[\x00-\u024f]|$)")
_LIGATURES = {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
_LIGATURE = re.compile("[\ufb00-\ufb06]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x85\u2028]")
#: Colours and titles that programs send to a terminal; logs are full of them.
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\))")
#: More of them than this share, or in a short text than so many, and it is no text, whatever its name says.
_ODD_SHARE, _ODD_FEW = 0.001, 8
_SHOWN = {"cp932": "Shift-JIS", "euc_jp": "EUC-JP", "cp949": "EUC-KR", "gb18030": "GB18030", "cp950": "Big5", "koi8_r": "KOI8-R",
          "cp866": "CP866", "cp1251": "Windows-1251", "cp1253": "Windows-1253", "cp1255": "Windows-1255",
          "cp1256": "Windows-1256"}  # fmt: skip


#: The charset of the Content-Type that the document came with.
DECLARED: ContextVar[str] = ContextVar("kg.documents.declared", default="")


def decode(data: bytes, *, named: str = "") -> tuple[str, list[str]]:
    """The text and what was doubtful about it. `named` is what the document itself says about its encoding; what was said
    when it was sent (`DECLARED`) comes before that."""
    if marked := _marked(data):
        return _with_losses(*marked)
    if data.count(0) > bearable(data):
        raise Unreadable("it is no text: there are NUL bytes in it", reason="binary")
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        where = error.start
    if codec := "utf-8" if guessing.nearly_utf_8(data) else _codec(DECLARED.get()) or _codec(named):
        return _with_losses(data, codec)
    return _guessed(data, where)


def _marked(data: bytes) -> tuple[bytes, str] | None:
    """What says plainly what it is."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :], encoding
    encoding = guessing.utf_16(data) or guessing.iso_2022(data)
    return (data, encoding) if encoding else None


def _guessed(data: bytes, where: int) -> tuple[str, list[str]]:
    doubt = f"not UTF-8 (byte {where:,}): read as {{}}; some characters may be wrong"
    if codec := guessing.legacy(data):
        text, losses = _with_losses(data, codec)
        return text, [doubt.format(_SHOWN.get(codec, codec)), *losses]
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text, [doubt.format("Windows-1252")]


def bearable(data: bytes) -> float:
    """How many bytes that no text has may be in it, for it to be a text still. A few are in many a short text."""
    few = min(_ODD_FEW, len(data) / 2) if len(data) * _ODD_SHARE < _ODD_FEW and _is_utf_8(data) else 0
    return max(len(data) * _ODD_SHARE, few)


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def clean(text: str) -> str:
    """What PostgreSQL can store, offsets can count on and a search can find."""
    text = _ESCAPE.sub("", text) if "\x1b" in text else text
    text = _LINE_ENDS.sub("\n", text).replace("\u2029", "\n\n")
    text = _SURROGATE.sub("\ufffd", _UNWANTED.sub("", text))
    text = _JOINER.sub("", text) if "\u200c" in text or "\u200d" in text else text
    return _LIGATURE.sub(lambda found: _LIGATURES[found[0]], text)


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
