"""Markdown: stays as it is written, without front matter and comments; underlined headings become `#` lines."""

from __future__ import annotations

import re

from kg.documents.decoding import clean, decode
from kg.parts import Parsed

#: Of YAML or TOML. A line and words below it are a line and words: it begins with a name, or a remark.
_FRONT = re.compile(
    r"\A(?:---[ \t]*\n(?=[\"'\w#{-][^\n]*:|#)(.{0,20000}?)\n(?:---|\.\.\.)|\+\+\+[ \t]*\n(.{0,20000}?)\n\+\+\+)[ \t]*(?:\n|\Z)",
    re.DOTALL,
)
_FRONT_TITLE = re.compile(
    r"""^title[ \t]*[:=][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\n]*?))[ \t]*(?:[ \t]#[^\n]*)?$""", re.MULTILINE | re.IGNORECASE
)
#: A definition that nothing refers to: what people write for remarks.
_REMARK = re.compile(r"^[ ]{0,3}\[(?://|comment|#|_)[^\]\n]{0,100}\]:[ \t]*(?:#|<>)[^\n]*(?:\n|\Z)", re.MULTILINE | re.IGNORECASE)
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"[ ]{0,3}(=+|-{2,})[ \t]*$")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+([^\n]*?)[ \t]*#*[ \t]*$")
_CODE = re.compile(r"(?<!`)(`+)(?!`)[^\n]{1,2000}?(?<!`)\1(?!`)")
#: In longer ones nobody looks for code: it would take the square of their length.
_LONG_LINE = 10_000
_BLOCK = re.compile(r"\s*([-*+>|#]|\d+[.)][ \t])")  # cannot be the first line of a heading


class MarkdownParser:
    media_types = ("text/markdown", "text/x-markdown")

    def parse(self, data: bytes, name: str) -> Parsed:
        text, warnings = decode(data)
        text, title = _without_front(clean(text))
        lines, first = _lines(_without_comments(text))
        return Parsed("\n".join(lines), title or first, {}, tuple(warnings))


def _without_front(text: str) -> tuple[str, str]:
    found = _FRONT.match(text)
    if found is None:
        return text, ""
    title = _FRONT_TITLE.search(found[1] or found[2] or "")
    return text[found.end() :], (title[1] or title[2] or title[3] or "").strip() if title else ""


def _without_comments(text: str) -> str:
    """Comments that begin a line or stand in one; not in code. By hand: the text may have a million beginnings and no end."""
    text = _REMARK.sub("", text) if "]:" in text else text
    if "<!--" not in text:
        return text
    kept, position, fence = [], 0, ""
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end + 1
        line = text[position:end]
        fence = _fence_after(line.rstrip("\n"), fence)
        begin = -1 if fence else _comment_in(line)
        if begin < 0:
            kept.append(line)
            position = end
            continue
        close = text.find("-->", position + begin + 4)
        if close < 0:  # never closed: it is no comment
            kept.append(text[position:])
            break
        kept.append(line[:begin])
        position = close + 3
    return "".join(kept)


def _comment_in(line: str) -> int:
    """Where one begins that does not stand in code; -1: nowhere."""
    begin = line.find("<!--")
    if begin < 0 or len(line) > _LONG_LINE or "`" not in line[:begin]:
        return begin
    code = [found.span() for found in _CODE.finditer(line)]
    while begin >= 0 and any(first < begin < last for first, last in code):
        begin = line.find("<!--", begin + 4)
    return begin


def _lines(text: str) -> tuple[list[str], str]:
    """Lines with `#` headings, and the first of them."""
    lines: list[str] = []
    title = fence = ""
    for line in text.split("\n"):
        was, fence = fence, _fence_after(line, fence)
        if was or fence:
            lines.append(line)
            continue
        if underline := _underlined(line, lines):
            lines[-1] = f"{'#' if underline == '=' else '##'} {lines[-1].strip()}"
            lines.append("")
        else:
            lines.append(line)
        if not title and (heading := _HEADING.match(lines[-2] if underline else line)):
            title = heading[2]
    return lines, title


def _underlined(line: str, before: list[str]) -> str:
    """`=` or `-` of a line that makes a heading of the one above it."""
    found = _UNDERLINE.match(line)
    if not found or not before or not before[-1].strip() or _BLOCK.match(before[-1]):
        return ""
    return found[1][0] if len(before) < 2 or not before[-2].strip() else ""


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after this line."""
    found = _FENCE.match(line)
    if fence:
        closes = found and found[1].startswith(fence) and not line[found.end() :].strip(" \t`~")
        return "" if closes else fence
    return found[1] if found and not (found[1][0] == "`" and "`" in line[found.end() :]) else ""
