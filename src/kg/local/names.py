"""Names, dates and quantities of a parsed text: what the model's entity recogniser finds, with its usual slips put right."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from kg.graph.forms import singular
from kg.local.dates import days, is_month, lone_years, without_frame
from kg.local.joining import joined
from kg.local.kinds import kind
from kg.local.mentions import TYPES, Mention
from kg.local.roles import ROLES

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_QUOTES = frozenset("\"'“”‘’«»„`″")
_BEFORE = frozenset(("the", "a", "an", "hi", "hello", "hey", "dear", "re", "fwd"))
_OPEN, _CLOSE = "([{", ")]}"
_AFTER = frozenset(("'s", "’s", "'", "’", ",", ";", ":", "-", "–", "and", "of"))
_LONGEST_TITLE = 10
_CAPTIONS = frozenset(("", "work", "product", "facility", "law", "event"))
#: Written with a capital in letters and forms, and nobody's name.
_EMPTY = frozenset((
    "attachment", "bcc", "best", "cc", "cheers", "date", "dear", "fax", "fwd", "fw", "greetings", "hello", "hi", "kind", "name",
    "note", "page", "phone", "re", "regards", "sincerely", "subject", "tel", "tel.", "thanks", "title", "to", "warning", "mon",
    "tue", "tues", "wed", "thu", "thur", "thurs", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep",
    "sept", "oct", "nov", "dec", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
))  # fmt: skip
_NO_ACRONYM = 8  # letters: CONFIDENTIALITY is a heading
_WHO = frozenset(("nsubj", "nsubjpass", "poss"))
_VERSION = re.compile(r"v?\d+(?:\.\d+)+")
_CURRENCIES = frozenset(("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD"))


def names(doc: Doc) -> list[Mention]:
    """None touches another; in the order of the text."""
    found = _apart([*_trimmed(doc, _recognised(doc)), *lone_years(doc)])
    found = _apart(_whole(doc, found))
    found = _apart([*found, *_titles(doc, found)])
    found = _apart([*found, *_unseen(doc, found)])
    found = joined(doc, found)
    found = _apart([*found, *_again(doc, found)])
    found = _apart([*found, *_by_half(doc, found)])
    return [_of_kind(doc, one) for one in found if _is_name(doc, one) and not is_shouted(doc, one)]


def _of_kind(doc: Doc, one: Mention) -> Mention:
    return Mention(one.first, one.last, kind(one.type, one.text(doc).split())) if one.named else one


def _is_name(doc: Doc, one: Mention) -> bool:
    """Not `The`, `We`; not `churches`, which the recogniser takes for somebody; and a number is nobody."""
    text = one.text(doc)
    if is_empty(text) or (one.last - one.first == 1 and doc[one.first].is_stop and not doc[one.first].is_upper):
        return False
    if _is_caption(doc, one) or (one.named and is_month(text)) or all(token.lower_ in ROLES for token in doc[one.first : one.last]):
        return False
    return not one.named or (any(map(str.isalpha, text)) and (text != text.lower() or text == text.upper()))


def _is_caption(doc: Doc, one: Mention) -> bool:
    """`Background: …`, and what the recogniser does not take for somebody."""
    if one.last - one.first > 1 or one.type not in _CAPTIONS or not doc[one.first].is_sent_start:
        return False
    return one.last < len(doc) and doc[one.last].text == ":"


def is_empty(text: str) -> bool:
    return text.casefold() in _EMPTY or text in _CURRENCIES


def is_shouted(doc: Doc, one: Mention) -> bool:
    """Does it stand in a heading that is all capitals? There a capital says nothing."""
    words = [token for token in doc[one.first].sent if token.is_alpha and len(token.text) > 1]
    if len(words) == 1:
        return words[0].is_upper and (len(words[0].text) >= _NO_ACRONYM or _is_elsewhere(words[0]))
    return len(words) > 1 and all(token.is_upper for token in words)


def _is_elsewhere(word: Token) -> bool:
    """Does the text have it in small letters, too? FEES; a monthly fee."""
    forms = {word.lower_, singular(word.lower_)}
    return len(word.text) > 3 and any(token.text in forms for token in word.doc)


def _recognised(doc: Doc) -> Iterator[Mention]:
    for entity in doc.ents:
        if type := TYPES.get(entity.label_):
            one = Mention(entity.start, entity.end, type)
            yield from days(doc, one) if type == "date" else _unbracketed(doc, one)


def _unbracketed(doc: Doc, one: Mention) -> Iterator[Mention]:
    """Cut at a bracket that is not closed inside."""
    closed = any(close in one.text(doc) for close in _CLOSE)
    cut = next((index for index in range(one.first, one.last) if doc[index].text in _OPEN and not closed), None)
    if cut is None:
        yield one
    else:
        yield from (Mention(one.first, cut, one.type), Mention(cut + 1, one.last, one.type))


def _trimmed(doc: Doc, found: Iterable[Mention]) -> Iterator[Mention]:
    for one in found:
        first, last = one.first, one.last
        while first < last and (_is_before(doc[first]) or (doc[first].is_stop and doc[first].text.islower())):
            first += 1
        type = "quantity" if _is_amount(doc, one) else one.type
        if type == "person" and _VERSION.fullmatch(doc[last - 1].text):
            type = "product"
        elif type == "person":  # an amount that follows is not part of who gets it
            last = next((at for at in range(first + 1, last) if doc[at].text in _CURRENCIES or doc[at].like_num), last)
        while first < last and _is_after(doc[last - 1], doc[first:last].text):
            last -= 1
        kept = without_frame(doc, Mention(first, last, type))
        if kept is not None and any(letter.isalnum() for letter in kept.text(doc)):
            yield kept


def _is_amount(doc: Doc, one: Mention) -> bool:
    """EUR 7,400"""
    return one.last - one.first == 2 and doc[one.first].text in _CURRENCIES and doc[one.first + 1].like_num


def _is_before(token: Token) -> bool:
    return token.is_space or token.text in _QUOTES or token.text in _CLOSE or token.lower_ in _BEFORE


def _is_after(token: Token, text: str) -> bool:
    if token.is_space or token.text in _QUOTES or token.text in _AFTER or token.text in _OPEN:
        return True
    return token.text in _CLOSE and not any(open in text for open in _OPEN)


def _whole(doc: Doc, found: list[Mention]) -> Iterator[Mention]:
    """With the proper nouns before it that the tree holds to be of the same name: Zakhary + Petrovich Lyapunov."""
    taken = {index for one in found for index in range(one.first, one.last)}
    for one in found:
        first = one.first
        while one.type == "person" and first > 0 and first - 1 not in taken and _belongs(doc[first - 1], one):
            first -= 1
        yield Mention(first, one.last, one.type)


def _belongs(token: Token, one: Mention) -> bool:
    if not _is_proper(token) or token.dep_ != "compound" or not one.first <= token.head.i < one.last:
        return False
    return token.lower_ not in ROLES and token.lower_ not in _BEFORE


def _titles(doc: Doc, found: list[Mention]) -> Iterator[Mention]:
    """What stands in double quotes with capitals: a song, a film, a chapter."""
    taken = {index for one in found for index in range(one.first, one.last)}
    opened: int | None = None
    for token in doc:
        if token.is_sent_start:
            opened = None
        if token.text not in ('"', "“", "”", "″"):
            continue
        if opened is not None and token.text != "“" and _is_title(doc, opened + 1, token.i, taken):
            yield Mention(opened + 1, token.i - (doc[token.i - 1].text == ","), "work")
            opened = None
        else:
            opened = token.i


def _is_title(doc: Doc, first: int, last: int, taken: set[int]) -> bool:
    words = [token for token in doc[first:last] if token.is_alpha]
    if doc[last - 1].text == "," and len(words) == 1:
        return False  # "Come," he said
    if first > 2 and doc[first - 2].lower_ == "the" and doc[first - 3].text == "(":
        return False  # (the "Company"): a word that the text defines
    if not words or last - first > _LONGEST_TITLE or any(index in taken for index in range(first, last)):
        return False
    return words[0].text[0].isupper() and all(word.text[0].isupper() or word.is_stop for word in words)


def _unseen(doc: Doc, found: list[Mention]) -> Iterator[Mention]:
    """Runs of proper nouns that the recogniser passed over; of a run that begins with somebody's role, the rest."""
    taken = {index for one in found for index in range(one.first, one.last)}
    run: list[Token] = []
    for token in doc:
        if token.i not in taken and _is_proper(token):
            run.append(token)
            continue
        yield from _named(run)
        run = []
    yield from _named(run)


def _named(run: list[Token]) -> Iterator[Mention]:
    while run and run[0].lower_ in ROLES:
        run = run[1:]
    if (
        run
        and run[-1].lower_ not in ROLES
        and len(run[0].text) > 1
        and not goes_on(run[-1])
        and not (len(run) == 1 and run[0].is_sent_start and run[0].text[1:].islower())
    ):
        yield Mention(run[0].i, run[-1].i + 1, "")


def goes_on(token: Token) -> bool:
    """Post-mortem: a word that a hyphen and small letters end is no name."""
    if token.whitespace_ or token.i + 2 >= len(token.doc):
        return False
    hyphen, rest = token.nbor(1), token.nbor(2)
    return hyphen.text == "-" and not hyphen.whitespace_ and rest.is_alpha and rest.is_lower


def _is_proper(token: Token) -> bool:
    """A capital inside a word makes a name, whatever the model takes it for: PostgreSQL, GitHub, INSEAD."""
    if not token.is_alpha or not token.text[0].isupper():
        return token.pos_ == "PROPN" and token.text[0].isupper() and not token.is_punct
    return token.pos_ == "PROPN" or (len(token.text) > 2 and not token.text[1:].islower() and not token.is_stop)


def _again(doc: Doc, found: list[Mention]) -> Iterator[Mention]:
    """The other places where a name stands that was found once."""
    known: dict[str, dict[str, Mention]] = {}
    for one in found:
        if one.named and doc[one.first].text[0].isupper() and len(one.text(doc)) > 2:
            known.setdefault(doc[one.first].text, {}).setdefault(one.text(doc), one)
    for token in doc:
        for text, one in sorted(known.get(token.text, {}).items(), key=lambda item: (-len(item[0]), item[0])):
            last = token.i + one.last - one.first
            if one.first != token.i and doc[token.i : last].text == text:
                yield Mention(token.i, last, one.type)
                break


def _by_half(doc: Doc, found: list[Mention]) -> Iterator[Mention]:
    """A person's first name or surname alone, where the recogniser did not see it: at the beginning of a sentence it is a word
    like others."""
    taken = {index for one in found for index in range(one.first, one.last)}
    halves = {
        doc[at].text
        for one in found
        if one.type == "person" and one.last - one.first > 1
        for at in (one.first, one.last - 1)
        if _is_half(doc[at])
    }
    for token in doc:
        if token.text in halves and token.i not in taken and (token.pos_ == "PROPN" or token.dep_ in _WHO):
            yield Mention(token.i, token.i + 1, "person")


def _is_half(token: Token) -> bool:
    return token.is_alpha and token.is_title and len(token.text) > 2 and not token.is_stop and token.lower_ not in ROLES


def _apart(found: Iterable[Mention]) -> list[Mention]:
    """What came first stays; what touches it goes."""
    kept: list[Mention] = []
    taken: set[int] = set()
    for one in found:
        tokens = range(one.first, one.last)
        if tokens and taken.isdisjoint(tokens):
            kept.append(one)
            taken.update(tokens)
    return sorted(kept)
