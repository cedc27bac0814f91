"""Days, years and quantities: which of them say something, and where one ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.local.mentions import Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc

_FRAME = frozenset((
    "about", "almost", "another", "approximately", "around", "as", "at", "between", "by", "c.", "ca.", "circa", "early",
    "estimated", "exactly", "from", "in", "just", "late", "later", "least", "less", "mid", "more", "most", "much",
    "nearly", "only", "over", "roughly", "season", "seasons", "some", "than", "to", "under", "until", "up", "-", ",",
    "and", "or",
))  # fmt: skip
_BETWEEN = frozenset(("to", "and", "or", "until", "till", "through", "-", "–", "—", ",", "&"))
_MONTH = re.compile(
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|March|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAYS = frozenset((
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "wed", "thu", "fri", "sat", "sun",
    "spring", "summer", "autumn", "fall", "winter", "easter", "christmas",
))  # fmt: skip
_OF = frozenset(("year", "report"))
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_NUMERIC = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_LONE = frozenset(("pobj", "npadvmod", "appos", "conj"))


def days(doc: Doc, one: Mention) -> Iterator[Mention]:
    """`1986 to 1991` and `1953, 1956` are two days each; `May 3, 1971` is one, and with the number before it, too: 8 December."""
    first = one.first
    if first and _MONTH.fullmatch(doc[first].text) and doc[first - 1].text.isdecimal() and len(doc[first - 1].text) <= 2:
        first -= 1
    elif _YEAR.fullmatch(doc[first].text) and first > 1 and _MONTH.fullmatch(doc[first - 1].text):
        first -= 1 + (doc[first - 2].text.isdecimal() and len(doc[first - 2].text) <= 2)
    if _NUMERIC.fullmatch(one.text(doc)):
        yield one
        return
    last = one.last
    if last < len(doc) and _MONTH.fullmatch(doc[last - 1].text) and _YEAR.fullmatch(doc[last].text):
        last += 1
    for index in range(one.first + 1, last - 1):
        if doc[index].lower_ in _BETWEEN and _is_year(doc, first, index) and _has_digit(doc, index + 1, last):
            yield Mention(first, index, one.type)
            first = index + 1
    yield Mention(first, last, one.type)


def _is_year(doc: Doc, first: int, last: int) -> bool:
    """Does a day end here? A day and its month go on to their year."""
    return bool(_YEAR.search(doc[last - 1].text)) and last > first


def _has_digit(doc: Doc, first: int, last: int) -> bool:
    return any(letter.isdecimal() for letter in doc[first:last].text)


def without_frame(doc: Doc, one: Mention) -> Mention | None:
    """`over 24 million` → `24 million`. None where nothing is left that says something: `daily`, `that month`, `hundreds`."""
    if one.type not in ("date", "quantity"):
        return one
    first, last = one.first, one.last
    while first < last and doc[first].lower_ in _FRAME:
        first += 1
    while first < last and doc[last - 1].lower_ in _FRAME:
        last -= 1
    first = max((at + 1 for at in range(first, last) if doc[at].text in ")]" and _is_unopened(doc, first, at)), default=first)
    if one.type == "quantity" and first > 0 and doc[first - 1].text == "#" and not doc[first - 1].whitespace_:
        return None  # #3821 names something that is not here
    if one.type == "date":
        first = _after_words(doc, first, last)
    if last - first == 1 and _says_nothing(doc[first].text, one.type):
        return None
    if _has_digit(doc, first, last) or (one.type == "date" and any(_MONTH.fullmatch(token.text) for token in doc[first:last])):
        return Mention(first, last, one.type)
    return None


def _says_nothing(number: str, type: str) -> bool:
    """A port is no year, and `1.` counts what follows."""
    number = number.rstrip(".")
    return number.isdecimal() and (len(number) < 3 or (type == "date" and not _YEAR.fullmatch(number)))


def _is_unopened(doc: Doc, first: int, at: int) -> bool:
    """thirty (30) days"""
    return not any(token.text in "([" for token in doc[first:at])


def _after_words(doc: Doc, first: int, last: int) -> int:
    """`Annual Report 2023`, `the end of the 19th century`: where the day begins, if one ends it."""
    for at in range(last - 1, first, -1):
        before = doc[at - 1]
        if before.lower_ in _OF or (before.is_title and before.pos_ in ("NOUN", "PROPN") and not _is_of_days(before.text)):
            return at if _has_digit(doc, at, last) else first
    return first


def _is_of_days(word: str) -> bool:
    return is_month(word) or word.casefold() in _DAYS


def is_month(word: str) -> bool:
    return bool(_MONTH.fullmatch(word))


def lone_years(doc: Doc) -> Iterator[Mention]:
    """A year that stands alone is often overlooked."""
    for token in doc:
        if token.ent_iob_ == "O" and token.dep_ in _LONE and _YEAR.fullmatch(token.text):
            yield Mention(token.i, token.i + 1, "date")
