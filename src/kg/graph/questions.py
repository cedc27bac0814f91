"""Passages for a question that needs more than one of them: by meaning and by words, and by what the graph leads to from there.

From the passages that are found, and from the concepts that the question names, a walk goes over a bounded part of the graph: from
a passage to the concepts in it, along relations, and from concepts to passages that speak of them, most of all to those that
begin with them. Where it often is, counts beside how near a passage is and how many of the question's words it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kg._store import reading as store
from kg._store.verb import Row
from kg.graph.fan import fan_out
from kg.graph.links import Edges, Links, Place, rarity
from kg.graph.neighbourhood import batches
from kg.graph.ranking import GOES_ON, added, best, by_place, scaled
from kg.graph.runs import Runs
from kg.graph.searching import Asked, Passage
from kg.graph.sight import Run

#: Personalised PageRank: weighted edges, where it begins, and which edges weigh otherwise backwards, to how often it is where.
Walk = Callable[[Edges, Mapping[Place, float], Edges], Mapping[Place, float]]

DEPTH = 50
#: The part of the graph that is read. Relations are followed from what is named, and from the concepts of the first passages.
MOST_NAMED, MOST_CONCEPTS, PER_CONCEPT, PASSAGES_OF_ONE, MOST_LINKS, RELATED_OF = 200, 400, 8, 5, 4000, 10
#: What the concepts that a question names weigh, all together, beside all passages; and the walk beside nearness and words.
NAMED, WALKED = 1.0, 1.0
#: The better a passage was found, the more of the walk begins there: by this power.
SHARP = 3
#: After so many places what the walk says of a passage counts half.
HALF = 5.0
#: A common noun beside a name.
COMMON = 0.2


class Questions:
    def __init__(self, run: Run, walk: Walk) -> None:
        self._run, self._walk = run, walk

    async def passages(self, asked: Asked, ontologies: Sequence[int] | None, limit: int) -> list[Passage]:
        assert asked.vector is not None and asked.words is not None
        seeds = await self._run(store.question_seeds(asked.model, asked.vector, asked.words, ontologies, DEPTH))
        near, words = ({id: float(score) for kind, id, score in sorted(seeds) if kind == one} for one in ("near", "words"))
        first = added((1.0, scaled(near, DEPTH)), (1.0, scaled(words, DEPTH)))
        named = await self._named(asked.words, ontologies)
        links = await self._links(best(first, DEPTH), list(named), ontologies)
        walked = self._walked(first, named, *links.edges())
        return await self._told(added((1.0, first), (WALKED, walked)), limit)

    async def _named(self, question: str, ontologies: Sequence[int] | None) -> dict[int, float]:
        """Concepts that the question names, and what each is worth: the rarer, the more."""
        runs = Runs(question)
        found = await self._run(store.named_concepts(sorted(runs.forms), ontologies, MOST_NAMED))
        longest = runs.longest({form for form, *_ in found})
        return {
            concept: (COMMON if type == "concept" else 1.0) * rarity(seen)
            for form, concept, type, seen in reversed(found)
            if form in longest
        }

    def _walked(self, first: Mapping[int, float], named: Mapping[int, float], edges: Edges, back: Edges) -> dict[int, float]:
        """What the walk brings to each passage, at most 1, without what it begins with there. By place, because most of it stays
        around the passage that was found best."""
        sharp = {id: score**SHARP for id, score in first.items()}
        passages, concepts = sum(sharp.values()) or 1.0, sum(named.values()) or 1.0
        seeds: dict[Place, float] = {("passage", id): score / passages for id, score in sharp.items()}
        seeds |= {("concept", id): NAMED * score / concepts for id, score in named.items()}
        total = sum(seeds.values())
        linked = sorted({end for edge in edges for end in edge if end[0] == "passage"})
        walked = self._walk(edges, seeds, back) if edges else {}
        brought = {place[1]: walked.get(place, 0.0) - (1 - GOES_ON) * seeds.get(place, 0.0) / total for place in linked}
        return by_place({id: share for id, share in brought.items() if share > 0}, HALF)

    async def _links(self, passages: Sequence[int], concepts: Sequence[int], ontologies: Sequence[int] | None) -> Links:
        links = Links(concepts)
        known = dict.fromkeys(concepts)
        begun = set(concepts)
        for passage, concept, *mentioned in await self._run(store.passage_concepts(passages, MOST_LINKS)):
            links.mention(passage, concept, *mentioned)
            known[concept] = None
            if passage in passages[:RELATED_OF]:
                begun.add(concept)
        inner = [concept for concept in known if concept in begun][:MOST_CONCEPTS]
        for here, _, other, _, _, tier, _, confidence, _ in await self._neighbours(inner, ontologies):
            links.relate(here, other, tier, confidence)
            known[other] = None
        for concept, passage, *mentioned in await self._run(
            store.concept_passages(list(known)[: 2 * MOST_CONCEPTS], PASSAGES_OF_ONE, ontologies)
        ):
            links.mention(passage, concept, *mentioned)
        return links

    async def _neighbours(self, ids: Sequence[int], ontologies: Sequence[int] | None) -> list[Row]:
        rows: list[Row] = []

        async def ask(some: Sequence[int]) -> None:
            rows.extend(await self._run(store.neighbours(some, most=PER_CONCEPT, ontologies=ontologies, tier=None, types=None)))

        await fan_out(batches(ids), ask)
        return sorted(rows)  # whoever answered first

    async def _told(self, ranked: Mapping[int, float], limit: int) -> list[Passage]:
        first = sorted(ranked, key=lambda id: (-ranked[id], id))[:limit]
        rows = {row[0]: row for row in await self._run(store.get_passages(first))}
        return [Passage(*(*rows[id], ranked[id])) for id in first if id in rows]
