"""Words that were divided at the end of a line. Whether a hyphen is the word's own, the rest of the document tells."""

from __future__ import annotations

import re

#: PDFium says U+0002 or U+FFFE, and no line end, for a hyphen at the end of a line.
_CUT = re.compile(r"(?<=[^\W_])(?:[\u0002\ufffe\u00ad]\s?|[-\u2010]\n)(?=[^\W_])")
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)*")
_NO_PART, _AFTER = re.compile(r"[^\w\-\u2010]|_"), re.compile(r"[^\W_]+")
#: No word is longer.
_LONGEST = 60


def join_words(text: str) -> str:
    """`well-\\nknown` is `well-known` where the document has that elsewhere, and `develop-\\nment` is `development`."""
    words: set[str] | None = None
    pieces: list[str] = []
    done = 0
    for cut in _CUT.finditer(text):
        words = _words(text) if words is None else words
        pieces += [text[done : cut.start()], _between(text, cut, words)]
        done = cut.end()
    return "".join((*pieces, text[done:])) if pieces else text


def _between(text: str, cut: re.Match[str], words: set[str]) -> str:
    before = _NO_PART.split(text[max(0, cut.start() - _LONGEST) : cut.start()])[-1].lstrip("-\u2010")
    after = _AFTER.match(text[cut.end() : cut.end() + _LONGEST])
    if after is None:
        return cut[0]
    if cut[0][0] == "\u00ad":
        return ""
    if not after[0][0].islower() or before[-1:].isdigit():
        return "-"  # Anglo-Saxon, 1914-1918
    one, two = (before + after[0]).lower(), f"{before}-{after[0]}".lower().replace("\u2010", "-")
    if one in words:
        return ""
    return "-" if two in words or "-" in before else ""


def _words(text: str) -> set[str]:
    return {word.lower().replace("\u2010", "-") for word in _WORD.findall(text)}
