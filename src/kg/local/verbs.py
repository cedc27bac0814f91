"""What a relation is called: the verb, noun or preposition that makes it, in capitals. A built-in type only where it is clear."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kg.local.mentions import Mention

if TYPE_CHECKING:
    from spacy.tokens import Token

_BUILT_IN = {
    "CONSIST_OF": "COMPOSED_OF", "COMPRISE": "COMPOSED_OF", "COMPOSED_OF": "COMPOSED_OF", "MADE_OF": "COMPOSED_OF",
    "CONTAIN": "CONTAINS", "INCLUDE": "CONTAINS", "CAUSE": "CAUSES", "LEAD_TO": "CAUSES", "RESULT_IN": "CAUSES",
    "RESULT_FROM": "RESULTS_FROM", "ENABLE": "ENABLES", "PREVENT": "PREVENTS", "AVOID": "PREVENTS",
    "INFLUENCE": "INFLUENCES", "AFFECT": "INFLUENCES", "USE": "USES", "UTILIZE": "USES", "PRODUCE": "PRODUCES",
    "GENERATE": "PRODUCES", "CREATE": "PRODUCES", "REQUIRE": "REQUIRES", "NEED": "REQUIRES", "DEPEND_ON": "REQUIRES",
    "DEFINE": "DEFINES", "PRECEDE": "PRECEDES", "IMPLY": "IMPLIES", "CONTRADICT": "CONTRADICTS", "REGULATE": "REGULATES",
    "DIFFER_FROM": "OPPOSITE_OF", "RESEMBLE": "SIMILAR_TO", "PART_OF": "PART_OF", "MEMBER_OF": "PART_OF",
    "EXAMPLE_OF": "EXEMPLIFIES", "KIND_OF": "IS_A", "TYPE_OF": "IS_A", "FORM_OF": "IS_A",
}  # fmt: skip
_INSIDE = frozenset(("in", "at", "on", "near", "within"))
_ODD = re.compile(r"[^A-Z0-9]+")
_LONGEST = 60


def verb_type(verb: Token, down: Sequence[Token], other: Mention) -> str | None:
    """`works at` → WORK_AT, `was founded by` → FOUNDED_BY, `refused to work for` → REFUSE_TO_WORK_FOR; with `not` before it what
    is not so."""
    passive = verb.tag_ == "VBN" and (
        verb.dep_ in ("acl", "relcl") or any(child.dep_ in ("nsubjpass", "auxpass") for child in verb.children)
    )
    particle = next((child.lower_ for child in verb.children if child.dep_ == "prt"), "")
    at = next((token.lower_ for token in down if token.dep_ in ("prep", "agent")), "")
    if other.type == "date" and at in ("in", "on", "at", "during", "since", "from", "until", "by"):
        at = "in"
    did = verb.lower_ if passive else verb.lemma_
    inner = next((token for token in down if token.dep_ in ("xcomp", "pcomp") and token.pos_ == "VERB"), None)
    if inner is not None:
        to = "to" if any(child.lower_ == "to" and child.dep_ == "aux" for child in inner.children) else ""
        words = (at, inner.lemma_) if inner.dep_ == "pcomp" else (to, inner.lemma_, at)
        made = _plain(did, particle, *words)
    elif down and down[0].dep_ == "dobj" and len(down) > 1:
        # won gold in Calgary: it was not Calgary that was won; but whoever raises the production of steel raises steel
        made = _plain(did, particle, at) if at != "of" else _named(did, particle)
    else:
        made = _named(did, particle, at)
    denied = any(child.dep_ == "neg" for word in (verb, inner) if word is not None for child in word.children)
    return f"NOT_{made}" if made and denied else made


def noun_type(noun: Token, preposition: Token, other: Mention) -> str | None:
    """`is a member of` → PART_OF, `is a town in` → LOCATED_IN, `is the capital of` → CAPITAL_OF."""
    if preposition.lower_ in _INSIDE and other.type in ("place", "facility"):
        return "LOCATED_IN"
    return _named(noun.lemma_, preposition.lower_)


def preposition_type(noun: Token, preposition: Token, one: Mention, other: Mention) -> str | None:
    if preposition.lower_ in _INSIDE:
        if other.type in ("place", "facility") and (one.named or preposition.lower_ != "on"):  # a book on Norway
            return "LOCATED_IN"
        if other.type == "date":
            return "DATED"
    if one.named:  # Bay of Biscay: the name is no kind of relation
        return _named(preposition.lower_)
    return _BUILT_IN.get(f"{_snake(noun.lemma_)}_{_snake(preposition.lower_)}") or _named(preposition.lower_)


def about(modifier: Mention) -> str:
    """A German racer, the Apple store, the 1998 games."""
    if modifier.type in ("group", "place"):
        return "FROM"
    return "DATED" if modifier.type == "date" else "RELATED_TO"


def _named(*words: str) -> str | None:
    made = _plain(*words)
    return made and _BUILT_IN.get(made, made)


def _plain(*words: str) -> str | None:
    made = "_".join(filter(None, map(_snake, words)))[:_LONGEST].rstrip("_")
    return made if made and made[0].isalpha() else None


def _snake(word: str) -> str:
    return _ODD.sub("_", word.upper()).strip("_")
