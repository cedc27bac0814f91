"""How alike two names are, and whether they are one thing. Pure functions of the two names: symmetric, the same in every process.

A near vector is not enough ("Mortal Kombat" / "Mortal Kombat II": cosine 0.91), and a far one proves nothing ("JAMA" / its full
name: 0.10). So rules on the names speak first, each with what it is worth: about how often such a pair is one thing, measured on
one half of the documents of `kg eval` and reported on the other. Spelling and cosine move that a little; a veto ends it.

Whether two names ARE one thing is asked of a whole ontology, where a surname has many bearers. So `same` takes a rule that holds
everywhere (`sure`), and what is only likely is proposed to people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler

from kg.graph.acronyms import abbreviates, acronyms, looks_like_acronym
from kg.graph.containment import contained
from kg.graph.demonyms import demonym
from kg.graph.forms import form, lookups, singular
from kg.graph.vetoes import vetoed

__all__ = ["PROPOSED", "Named", "Outcome", "Verdict", "acronyms", "form", "in_text", "lookups", "rivals", "score", "verdict"]

Outcome = Literal["same", "proposed", "apart"]
#: People are asked from this score on.
PROPOSED = 0.50
_PERSON, _DATED = "person", frozenset({"date", "quantity"})
#: Types that texts use for one thing: a ministry is an organization and, in the next sentence, a place.
_CLOSE = frozenset(
    frozenset(pair.split())
    for pair in (
        "organization place", "organization product", "organization work", "organization group", "organization facility",
        "place group", "place facility", "work product", "work event", "work law", "group language",
    )
)  # fmt: skip


@dataclass(frozen=True)
class Named:
    """`form` is `form(label)`; `aliases` are other names of the same thing that a text gave, as forms or as written."""

    form: str
    label: str
    type: str = ""
    aliases: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Verdict:
    outcome: Outcome
    score: float


class _Worth(NamedTuple):
    score: float
    sure: bool = False


_NOTHING = _Worth(0.0)


def verdict(a: Named, b: Named, cosine: float | None = None) -> Verdict:
    """Of two names wherever they stand."""
    worth = _weigh(a, b, cosine)
    return Verdict("same" if worth.sure else "proposed" if worth.score >= PROPOSED else "apart", worth.score)


def score(a: Named, b: Named, cosine: float | None = None) -> float:
    """From 0 (two things) to 1 (one thing)."""
    return _weigh(a, b, cosine).score


def in_text(a: Named, b: Named, others: frozenset[str], cosine: float | None = None) -> float:
    """The score of two names of one text, whose other names (of a type that they could have) are `others`. Here a surname has one
    bearer, and who says it twice means him: a name that could as well stand for another one of the text is worth less."""
    return _weigh(a, b, cosine, rivals(a.form, b.form, others)).score


def rivals(a: str, b: str, others: frozenset[str]) -> int:
    """Of forms: how many of the others the shorter of the two could stand for as well as for the longer one."""
    short, long = (set(name.split()) for name in sorted((a, b), key=lambda name: (len(name.split()), name)))
    if not short < long:
        return 0
    apart = [set(other.split()) for other in others if other not in (a, b)]
    return sum(short < other and not (other <= long or long <= other) for other in apart)


def _weigh(a: Named, b: Named, cosine: float | None, rivals: int = 0) -> _Worth:
    if (b.form, b.label, b.type) < (a.form, a.label, a.type):
        a, b = b, a
    agreed = _agreement(a.type, b.type)
    if agreed == 0:
        return _NOTHING
    if a.form == b.form:
        return _Worth(agreed, sure=True)
    if not a.form or vetoed(a.label, b.label) or a.type in _DATED or b.type in _DATED:
        return _NOTHING  # two days are never one; one day written in two ways is left as two
    said = (_given(a, b), _acronym(a, b), _written(a, b), _held(a, b, rivals), _Worth(demonym(a.form, b.form)))
    best = max(said) if any(said_one.score for said_one in said) else _spelled(a, b, cosine)
    return _Worth(round(min(1.0, max(0.0, agreed * _moved(best.score, a, b, cosine))), 4), best.sure and agreed == 1)


def _agreement(one: str, other: str) -> float:
    """1: nothing against it; 0: a person is no place."""
    if not one or not other or one == other or "concept" in (one, other):
        return 1.0
    return 0.97 if frozenset({one, other}) in _CLOSE else 0.0


def _given(a: Named, b: Named) -> _Worth:
    """A text said so: "Full Name (FN)"."""
    mine, his = ({form(alias) for alias in one.aliases} - {""} for one in (a, b))
    if a.form in his or b.form in mine:
        return _Worth(0.97, sure=True)
    return _Worth(0.80) if mine & his else _NOTHING


def _acronym(a: Named, b: Named) -> _Worth:
    """Initials alone are not sure: many names share them."""
    for short, long in ((a, b), (b, a)):
        if looks_like_acronym(short.label) and short.form in acronyms(long.label):
            return _Worth(0.95 if len(short.form) > 2 else 0.88)
        # a person has initials, and nothing looser
        if looks_like_acronym(short.label) and _PERSON not in (a.type, b.type) and abbreviates(short.form, long.label):
            return _Worth(0.90)
    return _NOTHING


def _written(a: Named, b: Named) -> _Worth:
    """The same but for spaces, a plural or the order of the words."""
    if a.form.replace(" ", "") == b.form.replace(" ", ""):
        return _Worth(0.97, sure=True)
    if _singular(a.form) == _singular(b.form):
        return _Worth(0.60) if {_PERSON, "place"} & {a.type, b.type} else _Worth(0.72, sure=True)
    return _Worth(0.85) if sorted(a.form.split()) == sorted(b.form.split()) else _NOTHING


def _singular(of: str) -> list[str]:
    *before, last = of.split() or [""]
    return [*before, singular(last)]


def _spelled(a: Named, b: Named, cosine: float | None) -> _Worth:
    """A slip of the pen, or another spelling. Words that both have say nothing: it is the others that must be alike."""
    one, other = a.form.split(), b.form.split()
    rest = [" ".join(word for word in mine if word not in his) for mine, his in ((one, other), (other, one))]
    if not all(rest) or min(len(a.form), len(b.form)) < 5:
        return _NOTHING
    alike = min(fuzz.ratio(a.form, b.form) / 100, fuzz.ratio(*rest) / 100, JaroWinkler.similarity(*rest))
    if alike < 0.75:
        return _Worth(0.35 * alike)
    return _Worth(0.05 + 0.8 * alike, sure=alike >= 0.93 and cosine is not None and cosine >= 0.9)


def _held(a: Named, b: Named, rivals: int) -> _Worth:
    kind = next((type for type in (a.type, b.type) if type == _PERSON), a.type or b.type)
    return _Worth(*contained(a.form, b.form, kind, named=_is_name(a.label) and _is_name(b.label), rivals=rivals))


def _is_name(label: str) -> bool:
    """Has its last word a capital, or a digit? `lane` is in `maintenance lane`, but another thing."""
    last = label.split()[-1:]
    return bool(last) and not last[0].islower()


def _moved(worth: float, a: Named, b: Named, cosine: float | None) -> float:
    """By less than the rules are apart. Without any rule a near vector alone is worth a question at most."""
    if cosine is None:
        return worth
    near = min(max(cosine, 0.0), 1.0)
    if worth < 0.3:
        return max(worth, 0.55 * near**2) if near < 0.9 else 0.55
    return worth + 0.06 * (near - 0.7)
