"""Runs of words in a question that could be names in the graph."""

from __future__ import annotations

from kg.graph.forms import lookups

#: Words of a question that are looked at, and words of one name.
WORDS, LONGEST = 64, 6
_AROUND = "?!.,;:\"'()[]“”‘’«»"
#: What a question is made of; each may be somebody's name, but here it is none.
_EMPTY = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "been", "between", "both", "by", "did", "do", "does", "first", "for", "from", "had",
    "has", "have", "he", "her", "his", "how", "i", "in", "is", "it", "its", "many", "most", "much", "of", "on", "one", "or",
    "second", "she", "than", "that", "the", "their", "there", "these", "they", "third", "this", "those", "three", "to", "two",
    "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "with", "you",
))  # fmt: skip


class Runs:
    """`forms` of all of them, to be looked up."""

    def __init__(self, question: str) -> None:
        words = [word.strip(_AROUND) for word in question.split()[:WORDS]]
        self._at: dict[tuple[int, int], set[str]] = {}
        for start in range(len(words)):
            for end in range(start + 1, min(start + LONGEST, len(words)) + 1):
                if any(word and word.casefold() not in _EMPTY for word in words[start:end]):
                    self._at[start, end] = lookups(" ".join(words[start:end]))
        self.forms = {form for forms in self._at.values() for form in forms}

    def longest(self, known: set[str]) -> set[str]:
        """Of the forms that are names, those that no longer name covers: in `South Park` nobody speaks of a park."""
        taken: set[int] = set()
        kept: set[str] = set()
        for (start, end), forms in sorted(self._at.items(), key=lambda one: (one[0][0] - one[0][1], one[0])):
            if forms & known and taken.isdisjoint(range(start, end)):
                kept |= forms & known
                taken.update(range(start, end))
        return kept
