"""Where a text may be cut, best first. Every search has an end: what it costs is bounded by the window it is given."""

from __future__ import annotations

import re

#: Chinese, Japanese, Korean: no spaces between words.
CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3040-\u30ff\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003fffd"
)
#: Two CJK characters are a word; so is what stands between spaces, by forty characters: a line without spaces is not one word.
WORD = rf"(?:[{CJK}]{{1,2}}+|[^\s{CJK}]{{1,40}}+)"
words = re.compile(WORD)

#: Behind empty lines, and before a heading. Cuts are at the end of a match.
BLOCK = re.compile(r"\n(?:(?:[ \t]*+\n)++|(?=#{1,6}+ ))")
#: Behind a sentence and its space, where no small letter follows; behind a line.
SENTENCE = re.compile(r"[.!?…][\"'”’»)\]]*+\s++(?=[^a-zß-öø-ÿ])|[。！？．｡][」』”’）]*+\s*+|\n++")
PAUSE = re.compile(r"[,;:—–]\s++|[、，；：]\s*+")
SPACE = re.compile(r"\s++")

LONGEST_HEADING = 300
SEAMS = (BLOCK, SENTENCE, PAUSE, SPACE)


def last(text: str, low: int, high: int) -> int:
    """The last cut of the best kind in (low, high], else `high`."""
    return max(_best(text, low, high, SEAMS), default=high)


def nearest(text: str, low: int, high: int, wanted: int, seams: tuple[re.Pattern[str], ...] = SEAMS) -> int:
    """The cut of the best kind in (low, high] that is nearest to `wanted`, else `wanted` itself."""
    return min(_best(text, low, high, seams), key=lambda place: abs(place - wanted), default=wanted)


def _best(text: str, low: int, high: int, seams: tuple[re.Pattern[str], ...]) -> list[int]:
    return next((places for seam in seams if (places := ends(seam, text, low, high))), [])


def ends(seam: re.Pattern[str], text: str, low: int, high: int) -> list[int]:
    """Cuts of one kind in (low, high]. A seam that the window's end divides is cut there: it is space on both sides."""
    return [
        place
        for found in seam.finditer(text, low, high)
        if low < (place := found.end()) <= high and not _below_heading(text, found)
    ]


def _below_heading(text: str, found: re.Match[str]) -> bool:
    """A heading stays with what it is the heading of."""
    if (line := text.find("\n", found.start(), found.end())) < 0 or text.startswith("#", found.end()):
        return False
    return text.startswith("#", text.rfind("\n", max(0, line - LONGEST_HEADING), line) + 1)
