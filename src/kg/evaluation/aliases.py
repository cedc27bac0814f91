"""Alias pairs: two surface forms of one entity, against forms of other entities of its type in the same document. All pairs of
others are taken, weighted so that there are eight of them to one: the same as a sample, without its chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from kg.evaluation.data import Annotated
from kg.graph.likeness import Named, form, rivals, score
from kg.parts import Embed

OTHERS = 8


@dataclass(frozen=True)
class Pair:
    """`rivals` as a document knows it: how many of its other names the shorter one could stand for."""

    one: Named
    other: Named
    alike: bool
    rivals: int


@dataclass(frozen=True)
class Ranked:
    """Average precision, and the largest recall where nine of ten are right."""

    average: float
    recall: float


def pairs(documents: Sequence[Annotated]) -> list[Pair]:
    return [pair for document in documents for pair in _of(document)]


def _of(document: Annotated) -> Iterator[Pair]:
    """Two labels of one form are one surface form: the platform finds them by key, and nothing is there to score."""
    by_type: dict[str, list[tuple[int, Named]]] = defaultdict(list)
    for number, entity in enumerate(document.entities):
        forms = {form(label): label for label in reversed(entity.forms)}
        by_type[entity.type] += [(number, Named(own, label, entity.type)) for own, label in sorted(forms.items())]
    for group in by_type.values():
        known = frozenset(named.form for _, named in group)
        for (mine, one), (his, other) in combinations(group, 2):
            if one.form != other.form:
                yield Pair(one, other, mine == his, rivals(one.form, other.form, known))


async def measure(found: Sequence[Pair], embed: Embed) -> tuple[Ranked, Ranked]:
    """By likeness, and, to compare, by the cosine of the labels alone."""
    labels = sorted({named.label for pair in found for named in (pair.one, pair.other)})
    vectors = dict(zip(labels, np.array((await embed.embed(labels)).vectors), strict=True))
    cosines = [float(vectors[pair.one.label] @ vectors[pair.other.label]) for pair in found]
    scores = [score(pair.one, pair.other, cosine, rivals=pair.rivals) for pair, cosine in zip(found, cosines, strict=True)]
    alike = [pair.alike for pair in found]
    return ranked(alike, scores), ranked(alike, cosines)


def ranked(alike: Sequence[bool], scores: Sequence[float]) -> Ranked:
    """What scores the same is taken or left together."""
    order = np.argsort(-np.asarray(scores), kind="stable")
    right, sorted_scores = np.asarray(alike, dtype=np.float64)[order], np.asarray(scores)[order]
    total, others = right.sum(), len(right) - right.sum()
    if not total or not others:
        return Ranked(0.0, 0.0)
    weights = np.where(right > 0, 1.0, OTHERS * total / others)
    ends = np.append(sorted_scores[1:] != sorted_scores[:-1], True)
    taken, precise = np.cumsum(right)[ends], (np.cumsum(right) / np.cumsum(weights))[ends]
    recall = taken / total
    average = float(np.sum(np.diff(np.insert(recall, 0, 0.0)) * precise))
    good = recall[precise >= 0.9]
    return Ranked(average, float(good.max()) if len(good) else 0.0)
