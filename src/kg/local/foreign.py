"""Names of a text that is not English: its grammar would be read wrong, so what is written with capitals is all that is known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.local.mentions import Mention

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Inside of a name they join it; a sentence that begins with one does not begin with a name.
_JOINING = frozenset(
    ("d", "da", "de", "del", "della", "der", "di", "do", "dos", "du", "la", "le", "van", "vom", "von", "zu", "zur")
)
_SMALL = _JOINING | frozenset((
    "a", "am", "an", "as", "au", "auf", "aus", "avec", "bei", "bisher", "ce", "ces", "cette", "con", "das", "dans", "dem", "des",
    "den", "det", "die", "e", "een", "ein", "eine", "el", "en", "er", "es", "et", "für", "gli", "het", "i", "il", "im", "in", "ist",
    "l", "las", "les", "lo", "los", "mit", "nach", "nel", "nos", "o", "os", "par", "para", "per", "por", "pour", "sa", "se", "ses",
    "sie", "son", "su", "sur", "um", "un", "una", "und", "une", "uno", "wie", "wir", "y", "в", "и", "на", "о", "с", "это",
))  # fmt: skip
_WHERE = frozenset(("aus", "bei", "durch", "in", "nach", "von"))
_MONEY = frozenset(("dollar", "dollars", "euro", "euros", "franken", "pesos"))
#: Where so many words within sentences have a capital, every noun has one, and one word alone is no name.
_NOUNS_TOO = 0.28


def foreign_names(doc: Doc, recognised: list[Mention]) -> list[Mention]:
    """`recognised` says which of them are persons, and gives days and quantities."""
    person = {(one.first, one.last) for one in recognised if one.type == "person"}
    runs = [run for run in map(_without_small, _runs(doc)) if run and not _is_counted(doc, run)]
    long = [run for run in runs if len(run) > 1]
    words = {token.text for run in long for token in run}
    plain = not _has_capital_nouns(doc)
    words |= {run[0].text for run in runs if not run[0].is_sent_start and (plain or _is_place(doc, run[0], recognised))}
    kept = [run for run in runs if len(run) > 1 or run[0].text in words]
    found = [Mention(run[0].i, run[-1].i + 1, "person" if (run[0].i, run[-1].i + 1) in person else "") for run in kept]
    days = (one for one in recognised if not one.named and not any(token.is_alpha for token in doc[one.first : one.last]))
    return sorted([*found, *(one for one in days if not any(map(one.touches, found)))])


def _is_place(doc: Doc, token: Token, recognised: list[Mention]) -> bool:
    """in Berlin, and the recogniser knows it"""
    where = token.i > 0 and doc[token.i - 1].text in _WHERE
    return where and any(one.type == "place" and one.first <= token.i < one.last for one in recognised)


def _runs(doc: Doc) -> Iterator[list[Token]]:
    """Words with capitals, one after the other; a small word between two of them joins them."""
    run: list[Token] = []
    for token in doc:
        if run and token.is_sent_start:
            yield run
            run = []
        if token.is_alpha and token.text[0].isupper() and len(token.text) > 1:
            run.append(token)
        elif run and not (token.text in _JOINING and run[-1].text not in _JOINING) and token.text not in "-&":
            yield run
            run = []
        elif run:
            run.append(token)
    yield run


def _without_small(run: list[Token]) -> list[Token]:
    while run and not run[-1].text[0].isupper():
        run = run[:-1]
    while run and (run[0].lower_ in _SMALL or not run[0].is_alpha):
        run = run[1:]
    return run


def _is_counted(doc: Doc, run: list[Token]) -> bool:
    """18 Millionen Euro, sechs Millionen Euro"""
    return (run[0].i > 0 and doc[run[0].i - 1].like_num) or run[-1].lower_ in _MONEY


def _has_capital_nouns(doc: Doc) -> bool:
    within = [token for token in doc if token.is_alpha and not token.is_sent_start]
    return sum(token.text[0].isupper() for token in within) > _NOUNS_TOO * len(within)
