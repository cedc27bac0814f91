"""A corpus in memory: its vectors, its words, and its graph as the extractor and `likeness` make it. What the platform keeps in
PostgreSQL is a matrix and a dictionary here; the ranking is the platform's own."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from kg.graph.forms import lookups
from kg.graph.likeness import Named, acronyms, form, verdict
from kg.graph.ranking import best, fused, walked
from kg.local.mentions import CONCEPT
from kg.parts import Embed, Extraction, Extractor

_WORD = re.compile(r"\w+")
#: Words that say nothing, and are in every question.
_STOP = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "both", "by", "did", "do", "does", "for", "from", "had", "has", "have",
    "he", "her", "his", "how", "in", "is", "it", "its", "of", "on", "or", "she", "that", "the", "their", "they", "this",
    "to", "was", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "with",
))  # fmt: skip
_NEAR, _PIECE = 50, 950
_TIER = {"precise": 0.6, "weak": 0.2}


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word.removesuffix(ending)
    return word


def words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.casefold()) if word not in _STOP]


class Library:
    def __init__(self, texts: Mapping[str, str], embed: Embed, extractor: Extractor) -> None:
        self._texts, self._embed, self._extractor = texts, embed, extractor
        self.names = list(texts)
        self._edges: dict[tuple[str, str], float] = {}
        self._held: dict[str, set[str]] = defaultdict(set)  # form → the passages that mention it
        self._counts = {name: Counter(words(text)) for name, text in texts.items()}
        self._rarity = self._rarities()

    async def open(self) -> None:
        pieces = [
            (name, text[start : start + _PIECE])
            for name, text in self._texts.items()
            for start in range(0, max(len(text), 1), _PIECE)
        ]
        self._owners = np.array([self.names.index(name) for name, _ in pieces])
        self._vectors = np.array((await self._embed.embed([piece for _, piece in pieces])).vectors, dtype=np.float32)
        said: dict[str, Named] = {}
        for name, text in self._texts.items():
            self._add(name, await self._extractor.extract(text), said)
        self._join(said)

    def _add(self, name: str, found: Extraction, said: dict[str, Named]) -> None:
        forms = {one.key: form(one.label) for one in found.concepts}
        for one in found.concepts:
            own = forms[one.key]
            before = said.get(own)
            terms = frozenset(one.search_terms) | (before.aliases if before else frozenset())
            said[own] = Named(own, one.label, one.type if before is None else before.type, terms)
            self._held[own].add(name)
        for related in found.relationships:
            ends = sorted((forms[related.from_key], forms[related.to_key]))
            if ends[0] != ends[1]:
                self._weigh((f"c:{ends[0]}", f"c:{ends[1]}"), _TIER[related.tier])

    def _weigh(self, edge: tuple[str, str], weight: float) -> None:
        self._edges[edge] = max(self._edges.get(edge, 0.0), weight)

    def _join(self, said: dict[str, Named]) -> None:
        """Mentions and likenesses become edges. A concept in many passages tells less of each."""
        for own, passages in self._held.items():
            for name in passages:
                self._weigh((f"c:{own}", f"p:{name}"), 1.0)
        for one, other in self._candidates(said):
            judged = verdict(said[one], said[other])
            if judged.outcome != "apart":
                self._weigh((f"c:{min(one, other)}", f"c:{max(one, other)}"), judged.score)
        self._said = said

    def _candidates(self, said: dict[str, Named]) -> set[tuple[str, str]]:
        """Pairs that share a rare word, or initials."""
        keyed: dict[str, set[str]] = defaultdict(set)
        for own, named in said.items():
            if named.type not in (CONCEPT, "date", "quantity"):
                for key in {*own.split(), *acronyms(named.label), own.replace(" ", "")}:
                    keyed[key].add(own)
        return {pair for group in keyed.values() if len(group) <= 30 for pair in combinations(sorted(group), 2)}

    # Rankings of the passages

    async def by_vectors(self, question: str) -> dict[str, float]:
        """Cosine of the nearest piece of each passage."""
        vector = np.array((await self._embed.embed([question])).vectors[0], dtype=np.float32)
        nearest = np.full(len(self.names), -1.0)
        np.maximum.at(nearest, self._owners, self._vectors @ vector)
        return dict(zip(self.names, nearest.tolist(), strict=True))

    def _rarities(self) -> dict[str, float]:
        held = Counter(word for counts in self._counts.values() for word in counts)
        return {word: math.log(1 + (len(self._counts) - count + 0.5) / (count + 0.5)) for word, count in held.items()}

    def by_words(self, question: str) -> dict[str, float]:
        """BM25."""
        asked = set(words(question))
        usual = sum(counts.total() for counts in self._counts.values()) / max(len(self._counts), 1)
        scores: dict[str, float] = {}
        for name, counts in self._counts.items():
            length = 0.25 + 0.75 * counts.total() / usual
            scores[name] = sum(
                self._rarity[word] * counts[word] * 2.2 / (counts[word] + 1.2 * length) for word in asked if word in counts
            )
        return scores

    async def by_graph(self, question: str, near: Mapping[str, float]) -> dict[str, float]:
        """A walk from what the question names and from the passages that are near to it."""
        seeds = {f"p:{name}": 0.05 * near[name] for name in best(near, _NEAR)}
        for own in await self._asked(question):
            seeds[f"c:{own}"] = 1 / len(self._held[own])
        ranks = walked(self._edges, seeds)
        return {name: ranks.get(f"p:{name}", 0.0) for name in self.names}

    async def _asked(self, question: str) -> list[str]:
        found = await self._extractor.extract(question)
        forms = {own for one in found.concepts for own in {form(one.label), *lookups(one.label)}}
        return sorted(own for own in forms if own in self._held)

    async def search(self, question: str, limit: int) -> dict[str, list[str]]:
        """The first passages by each way, and by all together."""
        near, said = await self.by_vectors(question), self.by_words(question)
        graph = await self.by_graph(question, near)
        ways = {"vectors": best(near), "text": [one for one in best(said) if said[one] > 0], "graph": best(graph)}
        both = best(fused([ways["vectors"], ways["text"]]))
        ways["both"] = both
        ways["all"] = best(fused([ways["vectors"], ways["text"], ways["graph"]]))
        return {way: ranking[:limit] for way, ranking in ways.items()}
