"""Relations that the grammar of a sentence states: the way through the dependency tree from one mention to the other, read by rules.

A way goes up from one mention to the word that holds both, and down to the other. Each rule is one shape of a way, with what a relation
found by it is worth: about how often people who read such sentences said that the two are related.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kg.local.mentions import CONCEPT, Mention
from kg.local.verbs import about, noun_type, preposition_type, verb_type

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

#: Pairs that are looked at in one sentence; a sentence with more is a list, or hostile.
MOST_IN_SENTENCE = 24
_LONGEST_WAY = 6
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


@dataclass(frozen=True)
class _Rule:
    """`shape` is of "up labels < part of speech of the top > down labels"."""

    name: str
    shape: re.Pattern[str]
    confidence: float


_RULES = [
    _Rule(name, re.compile(shape), confidence)
    for name, shape, confidence in (
        ("copula", r"nsubj<AUX>attr", 0.8),
        ("kind", r"nsubj<(?:AUX|VERB)>attr (?:amod|compound|nmod|compound compound|amod compound)", 0.85),
        ("kind of", r"nsubj<AUX>attr prep pobj(?: prep pobj| appos| compound)?", 0.6),
        ("kind done", r"nsubj<AUX>attr acl (?:prep pobj|agent pobj|dobj|npadvmod|prep pobj prep pobj)", 0.75),
        ("passive", rf"nsubjpass<VERB>(?:{_OBJECT}|prep pobj prep pobj)", 0.7),
        ("verb", rf"nsubj<VERB>{_OBJECT}", 0.5),
        ("apposition", r"<>appos(?: appos)?", 0.6),
        ("apposition of", r"<>(?:appos|acl) prep pobj", 0.5),
        ("participle", r"<>acl (?:agent pobj|npadvmod|dobj)", 0.7),
        ("relative", rf"<>relcl {_OBJECT}", 0.45),
        ("preposition", r"<>prep pobj(?: appos| compound)?", 0.55),
        ("place in place", r"<>npadvmod", 0.7),
        ("possessive", r"poss<>", 0.6),
        ("modifier", r"(?:amod|nmod|compound)(?: compound)?<>", 0.6),
        ("modified apposition", r"(?:amod|compound|nmod)<NOUN>appos", 0.85),
    )
]


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
        rule = way and _rule(way)
        if way and rule and (type := _type(rule, way, mentions[first], mentions[second])):
            swapped = rule.name in ("modifier", "modified apposition")
            ends = (second, first) if swapped else (first, second)
            yield Related(*ends, type, rule.confidence)
            return


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


def _rule(way: Way) -> _Rule | None:
    held = way.top.pos_ if way.up and way.down else ""
    shape = f"{' '.join(token.dep_ for token in way.up)}<{held}>{' '.join(token.dep_ for token in way.down)}"
    found = next((rule for rule in _RULES if rule.shape.fullmatch(shape)), None)
    if found is not None and found.name in ("copula", "kind", "kind of", "kind done") and way.top.lemma_ not in ("be", "become", "remain"):
        return None
    return found


def _type(rule: _Rule, way: Way, one: Mention, other: Mention) -> str | None:
    if rule.name in ("passive", "verb"):
        return verb_type(way.top, way.down, other)
    if rule.name in ("participle", "relative") or (rule.name == "apposition of" and way.down[0].dep_ == "acl"):
        return verb_type(way.down[0], way.down[1:], other)
    if rule.name == "kind done":
        return verb_type(way.down[1], way.down[2:], other)
    if rule.name == "kind of":
        return noun_type(way.down[0], way.down[1], other)
    if rule.name == "copula":
        return "IS_A"
    if rule.name == "possessive":
        return "HAS"
    if rule.name in ("preposition", "apposition of"):
        noun = way.top if rule.name == "preposition" else way.down[0]
        at = way.down[0] if rule.name == "preposition" else way.down[1]
        return preposition_type(noun, at, one, other)
    if rule.name in ("kind", "modifier", "modified apposition"):
        return about(other if rule.name == "kind" else one)
    return _beside(one, other)


def _beside(one: Mention, other: Mention) -> str:
    """Mediaș, Transylvania; Oslo, the capital."""
    if one.type == other.type == "place":
        return "LOCATED_IN"
    if other.type == CONCEPT:
        return "IS_A"
    return "DATED" if other.type == "date" else "RELATED_TO"
