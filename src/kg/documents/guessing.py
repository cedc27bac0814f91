"""Which encoding bytes are in that do not say it: by the characters that every text of a language is full of.

A wrong encoding gives other characters, and hardly ever these. Where none gives enough of them, nothing is guessed.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from itertools import pairwise

#: Bytes that are looked at.
_SAMPLE = 65_536
#: Characters of UTF-8 for one byte that is none: in other encodings it is the other way round.
_GOOD_FOR_ONE_BAD = 4
_HIGH = bytes(range(0x80, 0x100))
_ISO_2022 = (b"\x1b$B", b"\x1b$@")
#: The share of the bytes above ASCII that have another beside them: in French they stand alone, in these languages in rows.
_IN_ROWS = 0.7


@dataclass(frozen=True)
class _Language:
    """`share` of its letters above ASCII, or more, are `common` ones in any text; fewer letters than `fewest` say nothing."""

    encodings: tuple[str, ...]
    common: frozenset[str]
    share: float
    fewest: int = 4


_LANGUAGES = (
    _Language(("cp932", "euc_jp"), frozenset(map(chr, (*range(0x3041, 0x3097), *range(0x30A1, 0x30FD)))), 0.35),
    _Language(("cp949",), frozenset("이다는을의에가고를은한하로지서사도기어리인대자수시정해나그있것들일부전스여아보"), 0.25),
    _Language(
        ("gb18030",),
        frozenset("的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应"),
        0.2,
    ),
    _Language(
        ("cp950",),
        frozenset("的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日軍者意無力它與長把機十民第公此已工使情明性知全三又關點正業外將兩高間由問很最重並物手應"),
        0.2,
    ),
    _Language(("cp1251", "koi8_r", "cp866"), frozenset("оеаинтсрвл"), 0.45, fewest=20),
    _Language(("cp1253",), frozenset("αοιετσνηυρ"), 0.45, fewest=20),
    _Language(("cp1255",), frozenset("יוהלאתמשרב"), 0.45, fewest=20),
    _Language(("cp1256",), frozenset("اليمنوترب"), 0.45, fewest=20),
)  # fmt: skip


def legacy(data: bytes) -> str:
    """The encoding of a text that is not UTF-8, or "" if that cannot be told."""
    head = data[:_SAMPLE]
    if not _stand_in_rows(head):
        return ""
    found = [(_likeness(head, encoding, one), encoding) for one in _LANGUAGES for encoding in one.encodings]
    best, encoding = max(found)
    return encoding if best >= 1 else ""


def utf_16(data: bytes) -> str:
    """`utf-16-le` or `utf-16-be` of a text without a mark, where it is plain to see: every second byte is NUL, and no other."""
    head = data[: _SAMPLE & ~1]
    if len(head) < 4 or len(data) % 2:
        return ""
    nuls = head[0::2].count(0), head[1::2].count(0)
    if max(nuls) * 10 < len(head) * 3 or min(nuls) * 100 > len(head):
        return ""
    encoding = "utf-16-le" if nuls[1] > nuls[0] else "utf-16-be"
    text = _decoded(head, encoding)
    return encoding if text and sum(map(_is_odd, text)) * 100 <= len(text) else ""


def iso_2022(data: bytes) -> str:
    """Japanese in seven bits: it looks like ASCII, but for its shifts."""
    if not any(shift in data for shift in _ISO_2022) or not data.isascii():
        return ""
    try:
        data.decode("iso2022_jp_ext")
    except UnicodeDecodeError:
        return ""
    return "iso2022_jp_ext"


def nearly_utf_8(data: bytes) -> bool:
    """Whether it is UTF-8 with a few bytes in it that are damaged, or of another text."""
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - bad - len(data.translate(None, _HIGH))
    return good >= bad * _GOOD_FOR_ONE_BAD


def _is_odd(character: str) -> bool:
    return (character < " " and character not in "\t\n\r\f\x1b") or "\x7f" <= character < "\xa0" or character == "\ufffe"


def _stand_in_rows(head: bytes) -> bool:
    high = [place for place, byte in enumerate(head) if byte >= 0x80]
    # the second byte of a character may be ASCII in Shift-JIS, Big5 and GB18030: one that is two places away is near enough
    near = sum(1 for before, place in pairwise(high) if place - before <= 2)
    return len(high) > 1 and near >= (len(high) - 1) * _IN_ROWS


def _likeness(head: bytes, encoding: str, language: _Language) -> float:
    """1 and more: it is this language in this encoding."""
    said = [one for one in _decoded(head, encoding) if one > "\x7f"]
    letters = [one for one in said if one.isalpha()]
    if len(letters) < language.fewest or len(letters) * 2 < len(said):
        return 0.0
    return sum(1 for one in letters if one in language.common) / len(letters) / language.share


def _decoded(head: bytes, encoding: str) -> str:
    """ "" if it is another one. The last character may be cut."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeDecodeError:
        return ""
