"""Common nouns: what a technical text is about has seldom a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kg.local.mentions import CONCEPT, Mention
from kg.local.names import goes_on, is_empty, is_shouted
from kg.local.roles import ROLES

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_KEPT = frozenset(("NOUN", "PROPN", "ADJ", "X"))
#: Adjectives that say which or how many, not what.
_WHICH = frozenset((
    "able", "additional", "available", "certain", "common", "different", "due", "entire", "few", "first", "following",
    "former", "full", "further", "general", "given", "good", "great", "important", "large", "last", "late", "latter",
    "least", "less", "little", "long", "main", "major", "many", "more", "most", "much", "new", "next", "old", "only",
    "other", "own", "particular", "past", "possible", "present", "previous", "recent", "respective", "same", "second",
    "several", "short", "similar", "single", "small", "special", "specific", "such", "third", "total", "usual", "various",
    "whole",
))  # fmt: skip
#: Nouns that name nothing by themselves.
_EMPTY = frozenset((
    "addition", "amount", "anything", "aspect", "basis", "bit", "case", "century", "concept", "couple", "course", "day",
    "decade", "degree", "detail", "dozen", "e.g.", "end", "etc", "everything", "example", "fact", "few", "form", "front",
    "half", "hour", "hundred", "i.e.", "instance", "item", "kind", "lot", "majority", "man", "manner", "million",
    "minute", "moment", "month", "name", "née", "no", "none", "nothing", "number", "one", "order", "other", "others", "part",
    "people", "percent", "person", "piece", "place", "point", "reason", "rest", "result", "second", "sense", "series",
    "set", "side", "something", "sort", "stuff", "term", "thing", "thousand", "time", "times", "today", "tomorrow",
    "type", "use", "variety", "way", "week", "while", "word", "year", "yesterday",
))  # fmt: skip
_LONGEST = 6  # words
_UNIT = 3  # letters


def nouns(doc: Doc, names: list[Mention]) -> list[Mention]:
    """Noun phrases without names in them. Of a phrase with a name, the words after it: `Apple products` are Apple and products."""
    taken = {index for one in names for index in range(one.first, one.last)}
    found = (_phrase(chunk, taken) for chunk in _chunks(doc))
    return [one for one in found if one is not None]


def _chunks(doc: Doc) -> Iterator[list[Token]]:
    """The company's engineers: a phrase in a phrase. The on-disk format is no disk."""
    for chunk in doc.noun_chunks:
        if (before := _hyphened(chunk.root)) is not None:
            yield list(doc[before.i : before.head.i + 1])
            continue
        yield from (list(doc[chunk.start : token.i + 1]) for token in chunk if token.dep_ == "poss" and token.i < chunk.root.i)
        yield list(doc[chunk.start : chunk.root.i + 1])


def _hyphened(noun: Token) -> Token | None:
    """The preposition that a hyphen ties to this noun, and both to the next one."""
    before = noun.head
    if noun.dep_ != "pobj" or before.i != noun.i - 2 or noun.nbor(-1).text != "-" or noun.nbor(-1).whitespace_:
        return None
    return before if before.head.i > noun.i and before.head.pos_ in ("NOUN", "PROPN") else None


def _phrase(tokens: list[Token], taken: set[int]) -> Mention | None:
    head = tokens[-1]
    if (
        head.i in taken
        or head.pos_ not in ("NOUN", "PROPN", "X")
        or not _is_word(head)
        or head.lemma_.lower() in _EMPTY
        or is_empty(head.text)
        or (head.is_stop and not head.is_upper)
        or _is_unit(head)
        or goes_on(head)
    ):
        return None
    first = len(tokens) - 1
    while first > 0 and _is_part(tokens[first - 1], taken) and len(tokens) - first < _LONGEST:
        first -= 1
    while first > 0 and tokens[first].text == "-" and tokens[first - 1].i not in taken and not tokens[first - 1].whitespace_:
        first -= 1  # non-steroidal
    while first < len(tokens) - 1 and _is_outside(tokens[first], tokens[first + 1]):
        first += 1
    one = Mention(_with_hyphen(tokens[first], taken), head.i + 1, CONCEPT)
    return Mention(one.first, one.last, "") if _is_named(head, one) and not is_shouted(head.doc, one) else one


def _is_unit(head: Token) -> bool:
    """5 kW, 10 mL: what is measured has more letters."""
    before = head.nbor(-1) if head.i else None
    return before is not None and before.like_num and any(map(str.isdecimal, before.text)) and len(head.text.rstrip(".")) <= _UNIT


def _is_named(head: Token, one: Mention) -> bool:
    """A proper noun, and not what somebody is: the Prime Minister; nor one word that is all of a heading or a cell."""
    if head.pos_ != "PROPN" or not head.text[0].isupper() or head.lower_ in ROLES:
        return False
    return one.last - one.first > 1 or not head.is_sent_start or head.dep_ != "ROOT" or not head.text[1:].islower()


def _with_hyphen(token: Token, taken: set[int]) -> int:
    """Where the word begins that a hyphen ends with this token: Post-mortem, which the tree may take for two."""
    if token.i < 2 or token.nbor(-1).text != "-" or token.nbor(-1).whitespace_ or token.nbor(-2).whitespace_:
        return token.i
    return token.i - 2 if token.is_lower and token.nbor(-2).is_alpha and token.i - 2 not in taken else token.i


def _is_outside(token: Token, after: Token) -> bool:
    """A large pot is a pot; but a first-line treatment is no line treatment."""
    return (token.lower_ in _WHICH and after.text != "-") or token.is_punct or not _is_word(token)


def _is_part(token: Token, taken: set[int]) -> bool:
    if token.i in taken or token.is_space:
        return False
    return token.pos_ in _KEPT or token.text in ("-", "/") or token.tag_ in ("VBN", "VBG")


def _is_word(token: Token) -> bool:
    return len(token.text) > 1 and any(letter.isalpha() for letter in token.text)
