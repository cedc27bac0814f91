"""What a printed page says above and below its text: the title of the book or chapter, and the page's number.

They stand on page after page and in the middle of sentences that go over the page. A line of the margin is one of these if it comes
again on other pages, word for word or with a number in it that counts the pages. A head is kept where it stands first, unless
the text says it anyway; numbers of pages are not kept.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kg.documents.parsers.ordinals import roman

#: On fewer pages a line that comes again is chance. (A document of two pages has it on both.)
_FEWEST = 3
#: Of the pages from its first to its last: left and right pages have their own, and a chapter's first page has none.
_SHARE = 1 / 3
_NUMBER = re.compile(r"\d{1,6}")
_WORD = re.compile(r"[^\W\d_]+")
#: All that stands beside the number of a page, in some languages.
_PAGE_WORDS = frozenset({"page", "pages", "p", "pp", "of", "seite", "s", "von", "de", "sur", "pagina", "página", "di", "стр", "из"})
_SEPARATORS = "|-\u2013\u2014\u00b7\u2022/"
_ROMAN = {roman(number): number for number in range(1, 400)}
#: The margin, the words, and how far a number among them is from the page's own. Without words: any line that has this number.
_Key = tuple[str, str, int | None]


@dataclass(frozen=True)
class Margin:
    """A line above (`t`) or below (`b`) the text. `apart`: there are wide gaps between its pieces."""

    side: str
    line: str
    apart: bool = False


@dataclass(frozen=True)
class Leaf:
    """A page: its lines, and those of them that stand in its margins."""

    lines: list[str]
    margins: list[Margin]


def without_heads(leaves: Sequence[Leaf]) -> list[list[str]]:
    """The lines of each page, without its running heads."""
    places = _places(leaves)
    running = {key for key, found in places.items() if _is_running(found, len(leaves))}
    said = _said_elsewhere(leaves)
    kept: list[list[str]] = []
    for number, leaf in enumerate(leaves):
        lines = list(leaf.lines)
        for margin in leaf.margins:
            keys = [*_keys(margin, number)]
            first = all(places[key][0] == number for key in keys if key[1])
            kept_once = first and _says_something(margin.line) and _squeezed(margin.line) not in said
            if not running.isdisjoint(keys) and not kept_once:
                _take_out(lines, margin.line)
        kept.append(lines)
    return kept if any(any(lines) for lines in kept) else [leaf.lines for leaf in leaves]


def _places(leaves: Sequence[Leaf]) -> dict[_Key, list[int]]:
    """Where each line of a margin stands."""
    places: dict[_Key, list[int]] = defaultdict(list)
    for number, leaf in enumerate(leaves):
        for key in {key for margin in leaf.margins for key in _keys(margin, number)}:
            places[key].append(number)
    return places


def _keys(margin: Margin, page: int) -> Iterator[_Key]:
    """By what it is known on another page: its words, or those around a number and how far that is from the page's own."""
    side, line = margin.side, margin.line
    yield side, _squeezed(line), None
    for number in _NUMBER.finditer(line):
        if _is_set_off(margin, number):
            around = line[: number.start()] + "#" + line[number.end() :]
            yield from ((side, words, int(number[0]) - page) for words in (_squeezed(around), ""))
    if (value := _ROMAN.get(line.strip().lower())) is not None:
        yield from ((side, words, value - page) for words in ("#", ""))


def _is_set_off(margin: Margin, number: re.Match[str]) -> bool:
    """Whether it stands for itself: the number of an invoice counts too, where each page is one."""
    line = margin.line
    if margin.apart or not _says_something(line):
        return True
    before, after = line[: number.start()].rstrip(), line[number.end() :].lstrip()
    return (not before or before[-1] in _SEPARATORS) and (not after or after[0] in _SEPARATORS)


def _is_running(pages: list[int], all_pages: int) -> bool:
    span = pages[-1] - pages[0] + 1
    return len(pages) >= min(_FEWEST, max(all_pages, 2)) and len(pages) >= span * _SHARE


def _says_something(line: str) -> bool:
    words = {word.lower() for word in _WORD.findall(line)}
    return bool(words - _PAGE_WORDS) and line.strip().lower() not in _ROMAN


def _said_elsewhere(leaves: Sequence[Leaf]) -> set[str]:
    """Lines outside the margins: a chapter's head is its title, which stands above its text."""
    said: set[str] = set()
    for leaf in leaves:
        said |= set(Counter(map(_squeezed, leaf.lines)) - Counter(_squeezed(margin.line) for margin in leaf.margins))
    return said


def _take_out(lines: list[str], head: str) -> None:
    """The one that is nearest to the beginning or the end: a table may have the same number in it."""
    wanted = _squeezed(head)
    found = [place for place, line in enumerate(lines) if _squeezed(line) == wanted]
    if found:
        del lines[min(found, key=lambda place: min(place, len(lines) - 1 - place))]


def _squeezed(line: str) -> str:
    return "".join(line.split()).lower()
