"""Alias pairs: two surface forms of one entity, against forms of other entities of its type in the same document. All pairs of
others are taken, weighted so that there are eight of them to one: the same as a sample, without its chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from kg.evaluation.data import Annotated
from kg.graph.likeness import Named, form, in_text, verdict
from kg.parts import Embed

OTHERS = 8
Way = Literal["text", "graph", "cosine"]


@dataclass(frozen=True)
class Pair:
    """`names`: forms of all names of their type in the document."""

    one: Named
    other: Named
    alike: bool
    names: frozenset[str]


@dataclass(frozen=True)
class Scored:
    """The pairs of one document, and what each way of looking at them gives. `text` is how the extractor judges two names of one
    text, `graph` how the graph judges two names of an ontology, both with the cosine of their labels; `cosine` is that alone."""

    alike: list[bool]
    text: list[float]
    graph: list[float]
    cosine: list[float]


@dataclass(frozen=True)
class Ranked:
    """Average precision, and the largest recall where nine of ten are right."""

    average: float
    recall: float


def pairs(document: Annotated) -> list[Pair]:
    return list(_pairs(document))


def _pairs(document: Annotated) -> Iterator[Pair]:
    """Two labels of one form are one surface form: the platform finds them by key, and nothing is there to score."""
    by_type: dict[str, list[tuple[int, Named]]] = defaultdict(list)
    for number, entity in enumerate(document.entities):
        forms = {form(label): label for label in reversed(entity.forms)}
        by_type[entity.type] += [(number, Named(own, label, entity.type)) for own, label in sorted(forms.items())]
    for group in by_type.values():
        names = frozenset(named.form for _, named in group)
        for (mine, one), (his, other) in combinations(group, 2):
            if one.form != other.form:
                yield Pair(one, other, mine == his, names)


async def scored(documents: Sequence[Annotated], embed: Embed) -> list[Scored]:
    found = [pairs(document) for document in documents]
    labels = sorted({named.label for some in found for pair in some for named in (pair.one, pair.other)})
    vectors = dict(zip(labels, np.array((await embed.embed(labels)).vectors), strict=True)) if labels else {}
    return [_scored(some, [float(vectors[pair.one.label] @ vectors[pair.other.label]) for pair in some]) for some in found]


def _scored(found: Sequence[Pair], cosines: list[float]) -> Scored:
    both = list(zip(found, cosines, strict=True))
    return Scored(
        [pair.alike for pair in found],
        [in_text(pair.one, pair.other, pair.names, cosine) for pair, cosine in both],
        [verdict(pair.one, pair.other, cosine).score for pair, cosine in both],
        cosines,
    )


def ranked(documents: Sequence[Scored], way: Way = "text") -> Ranked:
    """What scores the same is taken or left together."""
    right = np.array([alike for one in documents for alike in one.alike], dtype=np.float64)
    scores = np.array([score for one in documents for score in getattr(one, way)], dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    right, scores = right[order], scores[order]
    total, others = right.sum(), len(right) - right.sum()
    if not total or not others:
        return Ranked(0.0, 0.0)
    weights = np.where(right > 0, 1.0, OTHERS * total / others)
    ends = np.append(scores[1:] != scores[:-1], True)
    taken, precise = np.cumsum(right)[ends], (np.cumsum(right) / np.cumsum(weights))[ends]
    recall = taken / total
    average = float(np.sum(np.diff(np.insert(recall, 0, 0.0)) * precise))
    good = recall[precise >= 0.9]
    return Ranked(average, float(good.max()) if len(good) else 0.0)
