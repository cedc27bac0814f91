"""A phrase as people name a concept: what it is called, what it is called elsewhere, or what means about the same. If nothing does,
nothing is found, and the nearest are suggested.

How near is near enough was measured with the local model on the manual (26 documents, 1,549 concepts), by cosine to the nearest
concept: 24 paraphrases have 0.51 to 0.92; of 30 phrases about other things 28 have at most 0.49 (the two others are no words).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kg._store import reading as store
from kg._store.reading import Candidate
from kg.errors import InvalidQuery, NothingLike
from kg.graph.forms import lookups
from kg.graph.searching import LIKE, Searching
from kg.graph.sight import Run

#: What a search by words says of a concept that has all of them.
ALL_WORDS = 1.0
SUGGESTED = 3
DEPTH = 20
#: What a search would read as "without", or as "in just this order".
_SIGNS = re.compile(r'(?<!\w)-+|"')


@dataclass(frozen=True, slots=True)
class Resolved:
    """A concept that was asked for. `phrase` is what it was found by; `score` is 1 if it is called so, else how near it is
    (cosine), and null if it has all the words of the phrase and no vector to compare."""

    id: int
    ontology: str
    label: str
    phrase: str | None = None
    score: float | None = None


class Phrases:
    def __init__(self, run: Run, searching: Searching, like: float = LIKE) -> None:
        self._run, self._searching, self._like = run, searching, like

    async def resolve(self, phrase: str, ontologies: Sequence[int] | None) -> Resolved:
        if not phrase.strip():
            raise InvalidQuery("phrase: expected some words", field="phrase")
        asked = await self._searching.asked(phrase, "hybrid")
        verb = store.resolve_phrase(
            sorted(lookups(phrase)), asked.model, asked.vector, _SIGNS.sub(" ", asked.words or ""), ontologies, depth=DEPTH
        )
        found: list[Candidate] = await self._run(verb)
        best = next((one for one in found if self._fits(one)), None)
        if best is None:
            raise NothingLike(phrase, [(one.id, one.label) for one in found[:SUGGESTED]])
        return Resolved(best.id, best.ontology, best.label, phrase, 1.0 if best.named else best.likeness)

    def _fits(self, one: Candidate) -> bool:
        return one.named or (one.likeness or -1.0) >= self._like or (one.words or 0.0) >= ALL_WORDS
