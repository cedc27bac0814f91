"""Which mentions of one text are one concept: those of one form, of an acronym that the text explains, and of a name that stands
for one longer name of the text and for no other: a surname, initials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kg.graph.acronyms import looks_like_acronym
from kg.graph.forms import form
from kg.graph.likeness import Named, in_text
from kg.local.mentions import CONCEPT
from kg.local.reading import Seen
from kg.parts import Concept

_MOST_TERMS = 8
#: Two names of one text that are so alike are one. What is less sure is left to the graph, and to people.
TOGETHER = 0.86
_PERSON, _NO_NAMES = "person", frozenset((CONCEPT, "date", "quantity"))
#: The model takes a bare surname for an organization or a product, too; what it takes for these is none.
_NEVER_PERSONS = frozenset((CONCEPT, "place", "facility", "group", "language", "date", "quantity"))


class Concepts:
    """`key_of[n]` is the key of the nth mention's concept, None where it is none."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        forms = [form(one.label) for one in seen]
        explained = _explained(seen, forms)
        self._into = _standing(seen, forms) | explained
        groups: dict[str, list[int]] = {}
        for number, own in enumerate(forms):
            if own:
                groups.setdefault(self._home(own), []).append(number)
        self._often = {number for numbers in groups.values() if len(numbers) > 1 for number in numbers}
        self._seen = seen
        self.all: list[Concept] = []
        self.key_of: list[str | None] = [None] * len(seen)
        for home, numbers in groups.items():
            key = f"c{len(self.all) + 1}"
            self.all.append(_concept(key, home, [seen[number] for number in numbers], explained))
            for number in numbers:
                self.key_of[number] = key

    def matters(self, number: int) -> bool:
        """Is the nth mention's concept worth a weak relation? A common noun is when the text comes back to it."""
        return self._seen[number].type != CONCEPT or number in self._often

    def _home(self, own: str) -> str:
        """Each step is to a longer name, or from an acronym to its explanation."""
        known = {own}
        while (next := self._into.get(own, own)) not in known:
            own = next
            known.add(own)
        return own


def _concept(key: str, home: str, seen: list[Seen], explained: Mapping[str, str]) -> Concept:
    own = [one for one in seen if form(one.label) == home] or seen
    label = _commonest(one.label for one in own)
    types = Counter(one.type for one in own if one.type)
    # of a word that is a common noun as often, the capital says nothing: the Agreement, this agreement
    common = types[CONCEPT] >= sum(one.type != CONCEPT for one in own)
    type = CONCEPT if common and types else next((name for name, _ in types.most_common() if name != CONCEPT), "")
    # what the text said itself: the graph takes it for sure
    terms = {one.also for one in own if one.also} | {one.label for one in seen if form(one.label) in explained}
    terms = {term for term in terms if form(term) != home}
    return Concept(key, label, type=type, search_terms=tuple(sorted(terms)[:_MOST_TERMS]))


def _commonest(labels: object) -> str:
    counted = Counter(labels)  # type: ignore[call-overload]
    best: str = max(counted, key=lambda label: (counted[label], -len(label), label))
    return best


def _explained(seen: Sequence[Seen], forms: list[str]) -> dict[str, str]:
    """Acronym → the name that a text gave with it. With two names for one acronym it stays alone."""
    given: dict[str, set[str]] = {}
    for one, own in zip(seen, forms, strict=True):
        if one.also:
            also = form(one.also)
            short, long = (also, own) if looks_like_acronym(one.also) or own.startswith(f"{also} ") else (own, also)
            given.setdefault(short, set()).add(long)
    known = set(forms)
    return {short: min(longs) for short, longs in given.items() if len(longs) == 1 and longs <= known}


def _standing(seen: Sequence[Seen], forms: list[str]) -> dict[str, str]:
    """A name → the longer one of the text that it stands for."""
    names: dict[str, Named] = {}
    for one, own in zip(seen, forms, strict=True):
        if own and one.type not in _NO_NAMES and own not in names:
            names[own] = Named(own, one.label, one.type)
    persons = frozenset(own for own, named in names.items() if named.type == _PERSON)
    others = frozenset(names) - persons
    holding: dict[str, set[str]] = {}
    for own in names:
        if " " in own:
            for word in own.split():
                holding.setdefault(word, set()).add(own)
    found: dict[str, str] = {}
    for own, named in names.items():
        fits = [
            long.form
            for long, short in _longer(named, names, holding)
            if in_text(short, long, persons if long.type == _PERSON else others) >= TOGETHER
        ]
        if fits:
            found[own] = max(fits, key=lambda long: (len(long.split()), long))
    return found


def _longer(named: Named, names: Mapping[str, Named], holding: Mapping[str, set[str]]) -> Iterator[tuple[Named, Named]]:
    """Names with more letters that begin or end in one of these words, or of which these could be the initials; and the name as it
    would be read then."""
    words = named.form.split()
    wanted = holding.get(words[0], set()) | holding.get(words[-1], set())
    if looks_like_acronym(named.label):
        wanted |= {own for own in names if " " in own and own[0] == named.form[0]}
    for own in sorted(wanted):
        if len(own) > len(named.form) and own.count(" ") >= len(words) - 1:
            slip = names[own].type == _PERSON and len(words) == 1 and named.type not in _NEVER_PERSONS and len(named.form) > 2
            yield names[own], (Named(named.form, named.label, _PERSON) if slip else named)
