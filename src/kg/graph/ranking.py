"""Rankings: several into one, and what a graph says of the passages that several hops lead to. Pure functions on names of any kind,
for the reading side and for `kg eval` alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
#: Of reciprocal rank: how much the first places count over the next.
SMOOTH = 60.0
#: How often the walk goes on instead of starting again at a seed. A question is near its answer, so it is less than on the web.
GOES_ON = 0.5


def fused(rankings: Iterable[Sequence[K]], weights: Sequence[float] | None = None, *, smooth: float = SMOOTH) -> dict[K, float]:
    """Reciprocal rank: each ranking gives weight / (smooth + place). Scores of different makes need not be compared."""
    scores: dict[K, float] = {}
    for number, ranking in enumerate(rankings):
        weight = 1.0 if weights is None else weights[number]
        for place, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + weight / (smooth + place)
    return scores


def scaled(scores: Mapping[K, float], limit: int) -> dict[K, float]:
    """The first `limit` by score, from 1 for the best to 0 for the last: so that scores of different makes can be added."""
    first = best(scores, limit)
    if not first:
        return {}
    high, low = scores[first[0]], scores[first[-1]]
    return {one: (scores[one] - low) / (high - low) if high > low else 1.0 for one in first}


def added(*parts: tuple[float, Mapping[K, float]]) -> dict[K, float]:
    """Weight and scores of each part."""
    scores: dict[K, float] = {}
    for weight, part in parts:
        for one, score in part.items():
            scores[one] = scores.get(one, 0.0) + weight * score
    return scores


def best(scores: Mapping[K, float], limit: int | None = None) -> list[K]:
    """By score, highest first; what scores alike stays in the order in which it was given."""
    return sorted(scores, key=lambda one: -scores[one])[:limit]


def by_place(scores: Mapping[K, float], half: float) -> dict[K, float]:
    """1 for the best, a half for the one that comes `half` places later: for scores of which the first are many times the others.
    What scores alike stays in the order in which it was given."""
    return {one: 1 / (1 + place / half) for place, one in enumerate(best(scores))}


def walked(
    edges: Mapping[tuple[K, K], float],
    seeds: Mapping[K, float],
    back: Mapping[tuple[K, K], float] | None = None,
    *,
    goes_on: float = GOES_ON,
    rounds: int = 20,
) -> dict[K, float]:
    """Personalised PageRank over weighted edges: how often a walk that starts at the seeds is at each node. An edge goes both ways;
    `back` has those that weigh otherwise from their second end."""
    nodes = {one: number for number, one in enumerate(dict.fromkeys([*(end for edge in edges for end in edge), *seeds]))}
    start = np.zeros(len(nodes))
    for one, weight in seeds.items():
        start[nodes[one]] = max(weight, 0.0)
    if not start.sum():
        return {}
    start /= start.sum()
    ends = np.array([(nodes[one], nodes[other]) for one, other in edges], dtype=np.int64).reshape(-1, 2)
    ways = [*edges.values(), *((back or {}).get(edge, weight) for edge, weight in edges.items())]
    weights = np.array(ways, dtype=np.float64)
    source, target = np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])
    leaving = np.bincount(source, weights, len(nodes))
    share = weights / leaving[source]
    rank = start.copy()
    for _ in range(rounds):
        moved = np.bincount(target, share * rank[source], len(nodes))
        rank = goes_on * moved + (1 - goes_on * moved.sum()) * start  # what cannot go on starts again
    return {one: float(rank[number]) for one, number in nodes.items()}
