"""Which of some names are one concept, and which concept: functions of the names, of what ties them, and of what people decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kg.graph.likeness import Named, verdict

#: A concept has at most so many names. More are no concept but a hole in the rules, and looking for vetoes would take its time.
MOST_NAMES = 200


@dataclass(frozen=True)
class Node:
    id: int
    named: Named
    concept: int | None = None
    seen: int = 0

    @property
    def form(self) -> str:
        return self.named.form


@dataclass(frozen=True)
class Tie:
    """`decided`: by people; `apart` is theirs alone."""

    one: int
    other: int
    score: float = 1.0
    decided: bool = False
    apart: bool = False


Cluster = tuple[Node, ...]


def vetoed(one: Named, other: Named) -> bool:
    """Would these be two things even if their vectors were one?"""
    return verdict(one, other, 1.0).score == 0.0


def clusters(nodes: Iterable[Node], ties: Iterable[Tie], veto: Callable[[Named, Named], bool] = vetoed) -> list[Cluster]:
    """The strongest ties first, those of people before all. A tie that would bring two names together that must not be does
    nothing: a chain of likenesses never glues what a veto keeps apart. Between equal scores forms decide, and not chance."""
    known = {node.id: node for node in nodes}
    ties = [tie for tie in ties if tie.one in known and tie.other in known]
    apart = {frozenset((tie.one, tie.other)) for tie in ties if tie.apart}
    home = {id: [node] for id, node in known.items()}
    for tie in sorted((tie for tie in ties if not tie.apart), key=lambda tie: (not tie.decided, -tie.score, _forms(tie, known))):
        mine, his = home[tie.one], home[tie.other]
        if mine is his or len(mine) + len(his) > MOST_NAMES:
            continue
        pairs = [(a, b) for a in mine for b in his]
        if any(frozenset((a.id, b.id)) in apart for a, b in pairs):
            continue
        if not tie.decided and any(veto(a.named, b.named) for a, b in pairs):
            continue
        mine.extend(his)
        home.update(dict.fromkeys((node.id for node in his), mine))
    found = {id(cluster): tuple(sorted(cluster, key=lambda node: node.form)) for cluster in home.values()}
    return sorted(found.values(), key=lambda cluster: cluster[0].form)


def _forms(tie: Tie, known: Mapping[int, Node]) -> tuple[str, ...]:
    return tuple(sorted((known[tie.one].form, known[tie.other].form)))


@dataclass(frozen=True)
class Placed:
    """`homes`: the concept of each cluster, None for a new one. `moves`: (concept that is no more, where it went, a form of it)."""

    homes: list[int | None]
    moves: list[tuple[int, int, str]]


def place(found: Sequence[Cluster], moved: Mapping[str, int]) -> Placed:
    """A concept stays with most of its names. Where several end up in one, the most seen keeps its id (then the older one), so that
    the fewest rows change. `moved` are forms of concepts that were absorbed by one of these, with the ids that they had: who comes
    apart again gets his own back."""
    claimed: dict[int, list[int]] = {}
    for concept, shares in _shares(found, moved).items():
        best_at = min(shares, key=lambda at: (-shares[at][0], -shares[at][1], found[at][0].form))
        claimed.setdefault(best_at, []).append(concept)
    homes: list[int | None] = []
    moves: list[tuple[int, int, str]] = []
    taken = {concept for concepts in claimed.values() for concept in concepts}
    for at, cluster in enumerate(found):
        seen: Counter[int] = Counter()
        for node in cluster:
            if node.concept is not None:
                seen[node.concept] += node.seen
        best = min(claimed.get(at, []), key=lambda concept: (-seen[concept], concept), default=None)
        if best is None:
            best = next((moved[node.form] for node in cluster if moved.get(node.form, 0) not in {0, *taken}), None)
            taken |= {best} if best is not None else set()
        else:
            moves += [(one, best, _first(cluster, one)) for one in claimed[at] if one != best]
        homes.append(best)
    return Placed(homes, moves)


def _shares(found: Sequence[Cluster], moved: Mapping[str, int]) -> dict[int, dict[int, tuple[int, int]]]:
    """Concept → cluster → how many of its names are there: of its own, then with those of concepts that it absorbed."""
    shares: dict[int, dict[int, tuple[int, int]]] = {}
    for at, cluster in enumerate(found):
        for node in cluster:
            if node.concept is not None:
                own, all = shares.setdefault(node.concept, {}).get(at, (0, 0))
                shares[node.concept][at] = (own + (node.form not in moved), all + 1)
    return shares


def _first(cluster: Cluster, concept: int) -> str:
    return min(node.form for node in cluster if node.concept == concept)
