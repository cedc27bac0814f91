"""What is no prose goes before a text is parsed. Every character that goes leaves a space: all others stay where they are."""

from __future__ import annotations

import re
from collections.abc import Iterator

#: A parsed part: long enough for whole paragraphs, short enough that no text costs more than its length.
PART = 6_000
_LONGEST_WORD = 100

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?:(?: {4}|\t)[^\n]*\n?)+")
_RULE = re.compile(r"^[-=:+ \t\x1e]*$", re.MULTILINE)  # under a heading, between the rows of a table
_MARKUP = (
    re.compile(r"</?[a-zA-Z][^<>\n]{0,300}>"),
    re.compile(r"(?<=\])\([^()\s]{1,500}\)"),  # the address of a link; its words stay
    re.compile(r"\b(?:https?|ftp|mailto|file)://?[^\s<>\"')\]]{1,2000}"),
    re.compile(
        r"`[^`\s]{0,200}(?:::|/[^`\s]{0,200}\.)[^`\s]{0,200}`"
    ),  # where code stands: a path, a test; a name of something stays
    re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    re.compile(r"(?<![\w/.])(?:[\w.-]{1,100}/){1,20}[\w-]{1,100}\.\w{1,5}(?::\d{1,6})?(?![\w/])"),  # the same without marks
    re.compile(r"\+\d{1,3}[ ./()-]{1,2}[\d ./()-]{5,20}\d"),  # a telephone number
    re.compile(r"&[a-zA-Z]{2,10};|&#\d{1,7};"),
    re.compile(r"^[ \t]{0,3}#{1,6}(?=\s)|^[ \t]{0,6}[*+-](?=\s)|^[ \t]{0,3}>+", re.MULTILINE),
    re.compile(r"^[ \t]{0,12}(?:\d{1,3}[.)]|\d{1,3}(?:\.\d{1,3}){1,4}\.?(?= {1,4}[^\W\d_a-z]))(?=\s)", re.MULTILINE),
    re.compile(r"\*{1,3}|~~|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)|[`|\\]|!?\[(?=[^\]\n]{0,300}\])|(?<=\w)\]"),
)
#: Stands where a cell, a column or a short line ends: no sentence goes over it. Where a text has it, it is a space.
BREAK = "\x1e"
_CELL = re.compile(r"\||(?<=\S)\t|(?<=\S) (?= {2,}[^ \xa0])")
_SHORT_LINE = re.compile(
    rf"(?:^|(?<={BREAK}))(?=[^\n{BREAK}]{{1,55}}\n[ >]{{0,6}}[^\W_a-z])[^\n{BREAK}]*[^\s.,;:!?-] *\n", re.MULTILINE
)
#: A row of values: three commas at least that no space follows, and that do not stand inside a number.
_ROW = re.compile(r"^(?=(?:[^\n,]{0,200},(?! |\d{3}(?!\d))){3})[^\n]*$", re.MULTILINE)
_COMMA = re.compile(r",(?! )")
#: Not in scripts without spaces: there a line is as long as it likes.
_WORD = re.compile(rf"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u9fff\uff00-\uffef]{{{_LONGEST_WORD + 1},}}")
_CAPTION = re.compile(r"(?<![,;\s-])[ ]*\n(?=[ >]{0,6}[^\W\d_a-z][^\W\d_]{1,20}(?: [^\W\d_]{1,20})?:(?:\s|$))")
_ODD = re.compile(r"[^\S\n \x1e]|[\x00-\x09\x0b-\x1d\x1f\x7f\u200b-\u200f\u2028-\u202e\ufeff\ud800-\udfff]")
#: What is one space to a reader, or an empty line; and where a word is cut at the end of a line, nothing.
_GAP = re.compile(rf"(?<=[^\W\d_])- *\n *(?=[a-zß-ÿ])|[ {BREAK}]*[\n{BREAK}][ \n{BREAK}]*|  +")
_PARAGRAPH, _SENTENCE, _SPACE = re.compile(r"\n[ \t]*\n"), re.compile(r"[.!?…][\"'”’)\]]*\s|\n"), re.compile(r"\s")


def prose(text: str) -> str:
    """As long as `text`, character for character."""
    text = _ODD.sub(" ", _CELL.sub(BREAK, text.replace(BREAK, " ")))
    text = _ROW.sub(lambda row: _COMMA.sub(BREAK, row[0]), text)
    text = _without_comments(_without_code(text))
    for pattern in _MARKUP:
        text = pattern.sub(_blank, text)
    text = _WORD.sub(_blank, _RULE.sub(_blank, text))
    for pattern in (_SHORT_LINE, _CAPTION):
        text = pattern.sub(lambda found: found[0][:-1] + BREAK, text)
    return text


def _without_code(text: str) -> str:
    """Fenced blocks, closed or not, and indented ones."""
    pieces: list[str] = []
    done, opened = 0, None
    for fence in _FENCE.finditer(text):
        if opened is None:
            pieces.append(text[done : fence.start()])
            opened, done = fence[1], fence.start()
        elif fence[1][0] == opened[0] and len(fence[1]) >= len(opened):
            pieces.append(_spaces(text[done : fence.end()]))
            opened, done = None, fence.end()
    pieces.append(text[done:] if opened is None else _spaces(text[done:]))
    return _INDENTED.sub(_blank, "".join(pieces))


def _without_comments(text: str) -> str:
    pieces: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        pieces += [text[done:start], _spaces(text[start : end + 3])]
        done = end + 3
    return "".join([*pieces, text[done:]])


def _blank(found: re.Match[str]) -> str:
    return _spaces(found[0])


def _spaces(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def squeezed(text: str) -> tuple[str, list[int]]:
    """Lines joined and spaces made one, as a reader sees it, and for each character that is left where it was. Empty lines stay."""
    places: list[int] = []
    pieces: list[str] = []
    done = 0
    for gap in _GAP.finditer(text):
        between = "" if gap[0][0] == "-" else "\n\n" if gap[0].count("\n") > 1 or BREAK in gap[0] else " "
        pieces += [text[done : gap.start()], between]
        places += [*range(done, gap.start()), *range(gap.start(), gap.start() + len(between))]
        done = gap.end()
    pieces.append(text[done:])
    return "".join(pieces), [*places, *range(done, len(text))]


def parts(text: str) -> Iterator[tuple[int, str]]:
    """(start, part), one after the other the whole text: cut after a paragraph, else a sentence, else a space, else anywhere."""
    start = 0
    while start < len(text):
        end = min(start + PART, len(text))
        if end < len(text):
            end = _cut(text, start, end)
        yield start, text[start:end]
        start = end


def _cut(text: str, start: int, end: int) -> int:
    for pattern, least in ((_PARAGRAPH, PART // 2), (_SENTENCE, PART // 2), (_SPACE, 1)):
        last = 0
        for found in pattern.finditer(text, start + least, end):
            last = found.end()
        if last:
            return last
    return end
