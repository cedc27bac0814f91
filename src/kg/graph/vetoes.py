"""Why two names that look alike are two things: another number, another letter, an opposite word."""

from __future__ import annotations

import re
import unicodedata

_ROMAN = re.compile(r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})")
_PART = re.compile(r"[^\W_]+(?:[.,](?=\d)[^\W_]+)*")
_VERSION = re.compile(r"[a-z]{0,3}(\d[\w.,]*)")
_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_FIRSTS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_WORDS = {word: number for words in (_ONES, _FIRSTS) for number, word in enumerate(words, 1)}
_OPPOSITES = [
    frozenset(group.split())
    for group in (
        "north south east west northeast northwest southeast southwest",
        "upper lower", "inner outer", "greater lesser", "major minor", "old new", "left right", "junior senior jr sr",
        "men women boys girls male female", "father son", "mother daughter", "internal external", "public private",
        "primary secondary", "pre post", "before after", "client server", "input output", "minimum maximum min max",
        "first last", "positive negative", "indirect direct", "synchronous asynchronous", "increase decrease",
        "january february march april may june july august september october november december",
        "monday tuesday wednesday thursday friday saturday sunday", "spring summer autumn winter",
    )
]  # fmt: skip
_SAME_WAY = {f"{way}ern": way for way in ("north", "south", "east", "west")}


def vetoed(one: str, other: str) -> bool:
    """Symmetric. Takes labels, not forms: `I` in capitals at the end of a name is a numeral, an `i` is a letter."""
    mine, his = _parts(one), _parts(other)
    if _numbers(mine) != _numbers(his) or _letters(mine) != _letters(his):
        return True
    return _opposed(mine, his)


def _parts(label: str) -> list[str]:
    return _PART.findall(unicodedata.normalize("NFKC", label))


def _numbers(parts: list[str]) -> list[str]:
    """Every number of a name, however it is written: `II`, `2`, `two`, `2nd`, `v2`; a version stays whole."""
    found: list[str] = []
    for index, part in enumerate(parts):
        if value := _number(part, last=index > 0 and index == len(parts) - 1):
            found.append(value)
    return sorted(found)


def _number(part: str, *, last: bool) -> str | None:
    lower = part.casefold()
    if lower in _WORDS:
        return str(_WORDS[lower])
    if match := _VERSION.fullmatch(lower):
        return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", match[1]).replace(",", "")
    # a single capital is a numeral at the end alone: Vitamin C is no hundred, but nobody writes Part I for a letter
    if _ROMAN.fullmatch(part) and (len(part) > 1 or (last and part in "IVX")):
        return str(_value(part))
    return None


def _value(roman: str) -> int:
    values = [_VALUES[letter] for letter in roman]
    return sum(-value if value < max(values[index:]) else value for index, value in enumerate(values))


def _letters(parts: list[str]) -> str:
    """The single capital that a name ends in: Hepatitis B, Model S. Initials stand before a name and are none."""
    last = parts[-1] if len(parts) > 1 and len(parts[-2]) > 1 else ""  # U.S. is written in letters
    return last if len(last) == 1 and last.isupper() and last not in "IVX" else ""


def _opposed(mine: list[str], his: list[str]) -> bool:
    """Each has a word of one group that the other has not."""
    a, b = ({_SAME_WAY.get(part, part) for part in map(str.casefold, parts)} for parts in (mine, his))
    return any((a & group) - b and (b & group) - a for group in _OPPOSITES)
