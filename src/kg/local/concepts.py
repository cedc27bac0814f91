"""Which mentions of one text are one concept: those of one form, of an acronym that the text explains, of a surname that one
person in it bears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kg.graph.forms import form, looks_like_acronym
from kg.local.mentions import CONCEPT
from kg.local.reading import Seen
from kg.parts import Concept

_MOST_TERMS = 8
#: The model takes a bare surname for an organization or a product, too; what it takes for these is none.
_NEVER_PERSONS = frozenset((CONCEPT, "place", "facility", "group", "language", "date", "quantity"))


class Concepts:
    """`key_of[n]` is the key of the nth mention's concept, None where it is none."""

    def __init__(self, seen: Sequence[Seen]) -> None:
        forms = [form(one.label) for one in seen]
        self._into = _explained(seen, forms) | _surnames(seen, forms)
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
            self.all.append(_concept(key, home, [seen[number] for number in numbers]))
            for number in numbers:
                self.key_of[number] = key

    def matters(self, number: int) -> bool:
        """Is the nth mention's concept worth a weak relation? A common noun is when the text comes back to it."""
        return self._seen[number].type != CONCEPT or number in self._often

    def _home(self, own: str) -> str:
        """A surname's person may have an acronym: at most two steps."""
        return self._into.get(self._into.get(own, own), self._into.get(own, own))


def _concept(key: str, home: str, seen: list[Seen]) -> Concept:
    own = [one for one in seen if form(one.label) == home] or seen
    label = _commonest(one.label for one in own)
    types = Counter(one.type for one in own if one.type)
    type = next((name for name, _ in types.most_common() if name != CONCEPT), CONCEPT if types else "")
    terms = {one.also for one in own if one.also} | {one.label for one in seen if looks_like_acronym(one.label)}
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
            short, long = (form(one.also), own) if looks_like_acronym(one.also) else (own, form(one.also))
            given.setdefault(short, set()).add(long)
    known = set(forms)
    return {short: min(longs) for short, longs in given.items() if len(longs) == 1 and longs <= known}


def _surnames(seen: Sequence[Seen], forms: list[str]) -> dict[str, str]:
    """One word of a person's name → the full name, where nobody else in the text has that word in his name."""
    bearers: dict[str, set[str]] = {}
    for one, own in zip(seen, forms, strict=True):
        if one.type == "person" and " " in own:
            for word in {own.split()[0], own.split()[-1]}:
                bearers.setdefault(word, set()).add(own)
    lone = {own for one, own in zip(seen, forms, strict=True) if one.type not in _NEVER_PERSONS and " " not in own and len(own) > 2}
    return {word: min(bearers[word]) for word in sorted(lone) if len(bearers.get(word, ())) == 1}
