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
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_LONE = frozenset(("pobj", "npadvmod", "appos", "conj"))


def days(doc: Doc, one: Mention) -> Iterator[Mention]:
    """`1986 to 1991` and `1953, 1956` are two days each; `May 3, 1971` is one, and with the number before it, too: 8 December."""
    first = one.first
    if first and _MONTH.fullmatch(doc[first].text) and doc[first - 1].text.isdecimal() and len(doc[first - 1].text) <= 2:
        first -= 1
    for index in range(one.first + 1, one.last - 1):
        if doc[index].lower_ in _BETWEEN and _is_year(doc, first, index) and _has_digit(doc, index + 1, one.last):
            yield Mention(first, index, one.type)
            first = index + 1
    yield Mention(first, one.last, one.type)


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
    if last - first == 1 and doc[first].text.isdecimal() and len(doc[first].text) < 3:
        return None
    if _has_digit(doc, first, last) or (one.type == "date" and any(_MONTH.fullmatch(token.text) for token in doc[first:last])):
        return Mention(first, last, one.type)
    return None


def lone_years(doc: Doc) -> Iterator[Mention]:
    """A year that stands alone is often overlooked."""
    for token in doc:
        if token.ent_iob_ == "O" and token.dep_ in _LONE and _YEAR.fullmatch(token.text):
            yield Mention(token.i, token.i + 1, "date")
