"""Relations that the grammar of a sentence states: the way through the dependency tree from one mention to another, read by rules.

A way goes up from one mention to the word that holds both, and down to the other. Each rule is one shape of a way, with what a
relation found by it is worth: about how often people who read such sentences said that the two are related.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kg.local.mentions import CONCEPT, Mention
from kg.local.verbs import about, noun_type, preposition_type, verb_type

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Pairs that are looked at in one sentence; a sentence with more is a list, or hostile.
MOST_IN_SENTENCE = 24
_LONGEST_WAY = 6
SUBJECTS = ("nsubj", "nsubjpass")
_RELATIVE = ("WDT", "WP")
_OBJECT = r"(?:dobj|oprd|dative|prep pobj|agent pobj|npadvmod|dobj prep pobj|xcomp dobj|xcomp prep pobj|prep pcomp dobj)"


class Related(NamedTuple):
    """Of two mentions, by their number."""

    one: int
    other: int
    type: str
    confidence: float


class Way(NamedTuple):
    up: list[Token]  # from the first mention's root, without the top
    top: Token
    down: list[Token]  # to the other's root, without the top


Called = Callable[[Way, Mention, Mention], str | None]


@dataclass(frozen=True)
class _Rule:
    """`shape` is of "labels up < part of speech of the top > labels down"; `called` makes the relation's type; `back`: it goes from
    the second mention to the first; `being`: the top is a form of `be`."""

    shape: re.Pattern[str]
    confidence: float
    called: Called
    back: bool = False
    being: bool = False


def _beside(way: Way, one: Mention, other: Mention) -> str:
    """Mediaș, Transylvania; Oslo, the capital."""
    if one.type == other.type == "place":
        return "LOCATED_IN"
    if other.type == CONCEPT:  # Oslo, the capital; in a list without articles the tree sees the same shape
        return "IS_A" if _is_said(way.down[-1]) else "RELATED_TO"
    return "DATED" if other.type == "date" else "RELATED_TO"


def _is_said(noun: Token) -> bool:
    """the capital, its capital"""
    return any(token.dep_ in ("det", "poss") for token in noun.children)


def _done(at: int) -> Called:
    """By the verb that stands so many steps down."""
    return lambda way, one, other: verb_type(way.down[at], way.down[at + 1 :], other)


_COMMAS = frozenset((",", ', "', ", “"))
_MODIFIER = r"(?:amod|compound|nmod)"
#: The first that fits is taken.
_RULES = [
    _Rule(re.compile(r"nsubj<AUX>attr"), 0.8, lambda way, one, other: "IS_A", being=True),
    _Rule(re.compile(rf"nsubj<AUX>attr {_MODIFIER}(?: compound)?"), 0.85, lambda way, one, other: about(other), being=True),
    _Rule(
        re.compile(r"nsubj<AUX>attr prep pobj(?: prep pobj| appos| compound)?"), 0.6,
        lambda way, one, other: noun_type(way.down[0], way.down[1], other), being=True,
    ),
    _Rule(re.compile(r"nsubj<AUX>attr acl (?:prep pobj|agent pobj|dobj|npadvmod|prep pobj prep pobj)"), 0.75, _done(1), being=True),
    _Rule(
        re.compile(rf"nsubjpass<VERB>(?:{_OBJECT}|prep pobj prep pobj)"), 0.7,
        lambda way, one, other: verb_type(way.top, way.down, other),
    ),
    _Rule(re.compile(rf"nsubj<VERB>{_OBJECT}"), 0.5, lambda way, one, other: verb_type(way.top, way.down, other)),
    _Rule(re.compile(r"<>appos(?: appos)?"), 0.6, _beside),
    _Rule(re.compile(r"<>appos prep pobj"), 0.5, lambda way, one, other: preposition_type(way.down[0], way.down[1], one, other)),
    _Rule(re.compile(r"<>acl prep pobj"), 0.5, _done(0)),
    _Rule(re.compile(r"<>acl (?:agent pobj|npadvmod|dobj)"), 0.7, _done(0)),
    _Rule(re.compile(rf"<>relcl {_OBJECT}"), 0.45, _done(0)),
    _Rule(
        re.compile(r"<>prep pobj(?: appos| compound)?"), 0.55,
        lambda way, one, other: preposition_type(way.top, way.down[0], one, other),
    ),
    _Rule(re.compile(r"<>npadvmod"), 0.7, _beside),
    _Rule(re.compile(r"poss<>"), 0.6, lambda way, one, other: "HAS"),
    _Rule(re.compile(rf"{_MODIFIER}(?: compound)?<>"), 0.6, lambda way, one, other: about(one), back=True),
    _Rule(re.compile(rf"{_MODIFIER}<NOUN>appos"), 0.85, lambda way, one, other: about(one), back=True),
]  # fmt: skip


def relations(doc: Doc, mentions: list[Mention]) -> Iterator[Related]:
    """In the order of the text. `mentions` are sorted and apart."""
    for sentence in sentences(doc, mentions):
        for position, one in enumerate(sentence):
            for other in sentence[position + 1 :]:
                yield from _related(doc, mentions, one, other)


def sentences(doc: Doc, mentions: list[Mention]) -> Iterator[list[int]]:
    """The numbers of the mentions of each sentence, at most so many."""
    here: list[int] = []
    sentence = -1
    for number, mention in enumerate(mentions):
        start = doc[mention.first].sent.start
        if start != sentence:
            yield here
            here, sentence = [], start
        if len(here) < MOST_IN_SENTENCE:
            here.append(number)
    yield here


def _related(doc: Doc, mentions: list[Mention], one: int, other: int) -> Iterator[Related]:
    a, b = mentions[one], mentions[other]
    if "quantity" in (a.type, b.type) or (a.type == b.type == "date"):
        return
    for first, second in ((one, other), (other, one)):
        way = _way(mentions[first].root(doc), mentions[second].root(doc))
        way = way and _of_all(way)
        rule = way and _rule(way)
        if way and rule and (type := rule.called(way, mentions[first], mentions[second])):
            if is_kind(doc, a, b):
                ends, type = (other, one), "IS_A"
            else:
                ends = (second, first) if rule.back else (first, second)
            yield Related(*ends, type, rule.confidence)
            return


def is_kind(doc: Doc, one: Mention, other: Mention) -> bool:
    """Does the first say what the second is? The architect Grassi; its church, Santa Maria. They stand side by side."""
    if one.type != CONCEPT or not other.named or other.first < one.last:
        return False
    between = doc[one.last : other.first].text
    return not between or (between in _COMMAS and _is_said(one.root(doc)))


def _way(one: Token, other: Token) -> Way | None:
    above = {one.i: 0}
    up = [one]
    while up[-1].head.i != up[-1].i and len(up) <= _LONGEST_WAY:
        up.append(up[-1].head)
        above[up[-1].i] = len(up) - 1
    down: list[Token] = []
    token = other
    while token.i not in above:
        if token.head.i == token.i or len(down) >= _LONGEST_WAY:
            return None
        down.append(token)
        token = token.head
    return Way(up[: above[token.i]], token, down[::-1])


def _of_all(way: Way) -> Way:
    """Water and oxygen: what is said of the first of a list is said of all of them. Where they are of different kinds, the tree
    has more often put together what is not one list."""
    up, down = way.up, way.down
    while len(up) > 1 and _is_listed(up[0]):
        up = up[1:]
    while len(down) > 1 and _is_listed(down[-1]):
        down = down[:-1]
    return Way(up, way.top, down)


def _is_listed(token: Token) -> bool:
    return token.dep_ == "conj" and token.ent_type_ == token.head.ent_type_


def _rule(way: Way) -> _Rule | None:
    held = way.top.pos_ if way.up and way.down else ""
    shape = f"{' '.join(token.dep_ for token in way.up)}<{held}>{' '.join(token.dep_ for token in way.down)}"
    found = next((rule for rule in _RULES if rule.shape.fullmatch(shape)), None)
    if found is None or (found.being and way.top.lemma_ not in ("be", "become", "remain")):
        return None
    return None if _has_other_subject(way) else found


def _has_other_subject(way: Way) -> bool:
    """Copenhagen, where she studied; Decision: the committee accepts. What stands nearest before a verb is what does it."""
    if way.up and way.up[-1].dep_ in SUBJECTS:
        return any(token.dep_ in SUBJECTS and way.up[-1].i < token.i < way.top.i for token in way.top.children)
    if not way.up and way.down and way.down[0].dep_ in ("relcl", "acl"):
        return any(token.dep_ in SUBJECTS and token.tag_ not in _RELATIVE for token in way.down[0].children)
    return False
