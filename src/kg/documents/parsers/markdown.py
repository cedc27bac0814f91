"""Markdown: stays as it is written, without front matter and comments; underlined headings become `#` lines."""

from __future__ import annotations

import re

from kg.documents.decoding import clean, decode
from kg.parts import Parsed

_FRONT = re.compile(r"\A---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?([^\n]*?)[\"']?[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"[ ]{0,3}(=+|-{2,})[ \t]*$")
_HEADING = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+([^\n]*?)[ \t]*#*[ \t]*$")
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
    title = _FRONT_TITLE.search(found[1])
    return text[found.end() :], title[1].strip() if title else ""


def _without_comments(text: str) -> str:
    """Comments that begin a line or stand in one; not in code. By hand: the text may have a million beginnings and no end."""
    if "<!--" not in text:
        return text
    kept, position, fence = [], 0, ""
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end + 1
        line = text[position:end]
        fence = _fence_after(line, fence)
        begin = -1 if fence or "`" in line else line.find("<!--")
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
