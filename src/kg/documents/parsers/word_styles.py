"""What the paragraphs of a Word file are: headings, and items of lists with their numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docx.oxml.ns import qn

from kg.documents.parsers.ordinals import letters, roman

_HEADING = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_PLAIN_LISTS = ("list paragraph", "list continue")
_DEEPEST = 9
#: A style that is based on one, that is based on one, …
_LONGEST_CHAIN = 20
_WRITTEN: dict[str, Callable[[int], str]] = {
    "lowerLetter": letters, "upperLetter": lambda n: letters(n).upper(), "lowerRoman": roman,
    "upperRoman": lambda n: roman(n).upper(), "decimalZero": lambda n: f"{n:02}",
}  # fmt: skip


@dataclass(frozen=True)
class _Level:
    start: int
    format: str
    text: str

    def marked(self, counts: list[str]) -> str:
        return re.sub(r"%([1-9])", lambda found: counts[int(found[1]) - 1] if int(found[1]) <= len(counts) else "", self.text)


@dataclass(frozen=True)
class Kind:
    """`heading` 1 to 9, or 0. `item`: in a list, at `depth`, and how it is marked: `- `, `2.1 `."""

    heading: int = 0
    item: bool = False
    depth: int = 0
    mark: str = ""


class Styles:
    """Counts while the paragraphs are read in order."""

    def __init__(self, styles: Any, numbering: Any) -> None:
        self._styles = {one.get(qn("w:styleId"), ""): one for one in styles.iter(qn("w:style"))}
        self._lists, self._of_styles = _lists(numbering)
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()

    def kind(self, properties: Any) -> Kind:
        chain = self._chain(properties)
        names = [_value(one, "w:name").lower() for one in chain]
        heading = _heading(properties, chain, names)
        list_id, depth = self._place(properties, chain)
        if list_id and list_id in self._lists:
            mark = self._mark(list_id, depth)
            return Kind(heading, not heading, depth, mark)
        item = any(one.startswith("list") for one in names[:1]) and not names[0].startswith(_PLAIN_LISTS)
        return Kind(heading, (item or list_id != "") and not heading, depth, "" if heading else "- ")

    def _chain(self, properties: Any) -> list[Any]:
        """The paragraph's style, the one that it is based on, and so on."""
        found: list[Any] = []
        id = _value(properties, "w:pStyle")
        while (style := self._styles.get(id)) is not None and len(found) < _LONGEST_CHAIN:
            found.append(style)
            id = _value(style, "w:basedOn")
        return found

    def _place(self, properties: Any, chain: list[Any]) -> tuple[str, int]:
        """Its list and how deep in it; the paragraph's own words count before its style's. List 0 is none."""
        list_id = depth = ""
        for one in (properties, *(style.find(qn("w:pPr")) for style in chain)):
            given = None if one is None else one.find(qn("w:numPr"))
            depth = depth or _value(given, "w:ilvl")
            list_id = list_id or _value(given, "w:numId")
        if not depth and list_id:
            linked = (self._of_styles.get((list_id, style.get(qn("w:styleId"), ""))) for style in chain)
            depth = next((one for one in linked if one), "0")
        return "" if list_id == "0" else list_id, min(_int(depth, 0), _DEEPEST - 1)

    def _mark(self, list_id: str, depth: int) -> str:
        series, levels, starts = self._lists[list_id]
        counts = self._counts.setdefault(series, {})
        if list_id not in self._begun:
            self._begun.add(list_id)
            counts |= {at: start - 1 for at, start in starts.items()}
        level = levels.get(depth)
        if level is None or level.format == "bullet":
            return "- "
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [one for one in counts if one > depth]:
            del counts[deeper]
        said = [_written(levels.get(one), counts.get(one)) for one in range(depth + 1)]
        mark = level.marked(said).strip()
        return f"{mark} " if mark else ""


def _lists(numbering: Any) -> tuple[dict[str, tuple[str, dict[int, _Level], dict[int, int]]], dict[tuple[str, str], str]]:
    """By the id of a list: the series that it counts in, its levels, where it starts anew. And which level a style stands for."""
    lists: dict[str, tuple[str, dict[int, _Level], dict[int, int]]] = {}
    of_styles: dict[tuple[str, str], str] = {}
    if numbering is None:
        return lists, of_styles
    series = {one.get(qn("w:abstractNumId"), ""): one for one in numbering.iterchildren(qn("w:abstractNum"))}
    for one in numbering.iterchildren(qn("w:num")):
        id, of = one.get(qn("w:numId"), ""), _value(one, "w:abstractNumId")
        described = list(series[of].iterchildren(qn("w:lvl"))) if of in series else []
        changes = list(one.iterchildren(qn("w:lvlOverride")))
        described += [level for change in changes for level in change.iterchildren(qn("w:lvl"))]
        levels = {_int(level.get(qn("w:ilvl")), 0): _level(level) for level in described}
        starts = {_int(change.get(qn("w:ilvl")), 0): _int(_value(change, "w:startOverride"), -1) for change in changes}
        lists[id] = of, levels, {depth: start for depth, start in starts.items() if start >= 0}
        of_styles |= {(id, _value(level, "w:pStyle")): level.get(qn("w:ilvl"), "0") for level in described}
    return lists, of_styles


def _level(element: Any) -> _Level:
    return _Level(
        _int(_value(element, "w:start"), 0), _value(element, "w:numFmt") or "decimal", _value(element, "w:lvlText")
    )  # fmt: skip


def _written(level: _Level | None, count: int | None) -> str:
    if level is None:
        return ""
    number = level.start if count is None else count
    return _WRITTEN.get(level.format, str)(number)


def _heading(properties: Any, chain: list[Any], names: list[str]) -> int:
    if names[:1] == ["title"]:
        return 1
    said = [_value(one, "w:outlineLvl") for one in (properties, *(style.find(qn("w:pPr")) for style in chain))]
    if level := next((one for one in said if one), ""):
        return (_int(level, 9) + 1) % 10  # 9 is text
    return next((int(found[1]) for one in names if (found := _HEADING.match(one))), 0)


def _value(element: Any, name: str) -> str:
    found = None if element is None else element.find(qn(name))
    return "" if found is None else found.get(qn("w:val"), "")


def _int(said: str | None, otherwise: int) -> int:
    return int(said) if said and re.fullmatch(r"[0-9]{1,6}", said) else otherwise
