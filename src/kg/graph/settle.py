"""From what was said to what is: names, who is like whom, concepts, relations. Only what changed is computed again.

Runs in the transaction that changed it, under the ontology's lock. What is dear (vectors and their sketches) was made before, and
statements that need nothing of each other's answers go in one round trip: everybody else who writes here waits for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kg._store import graph as store
from kg._store.graph import arun, arun_all
from kg._store.verb import Row, Verb
from kg.errors import Unprepared
from kg.graph import clusters as grouping
from kg.graph.clusters import Node, Tie
from kg.graph.keys import aliases, keys, probes
from kg.graph.likeness import Named, verdict
from kg.graph.said import Meaning, meaning
from kg.graph.sketch import COSINE, DIFFERENT, Sketch, sketches
from kg.parts import Vector

#: Claims whose relations are computed by one statement. A chunk has fewer; a document that goes has many.
SLICE = 500


@dataclass(frozen=True)
class Placeable:
    """A vector as it is stored, with its sketch: made before the lock is taken."""

    vector: str
    sketch: Sketch


def placeable(vectors: Mapping[bytes, Vector], *, ontology: int, space: int) -> dict[bytes, Placeable]:
    if not vectors:
        return {}
    made = sketches(np.array(list(vectors.values())), [ontology] * len(vectors), space)
    return {
        rank: Placeable(store.vector_text(vector), sketch) for (rank, vector), sketch in zip(vectors.items(), made, strict=True)
    }


@dataclass
class Change:
    """What a transaction has changed in an ontology and must settle. `claims` are rows as `say` answers, `now` those that
    `names_now` has answered already."""

    ontology: int
    space: int
    epoch: int
    vectors: Mapping[bytes, Placeable]
    names: set[int] = field(default_factory=set)
    claims: list[Row] = field(default_factory=list)
    reseat: set[int] = field(default_factory=set)  # names that are what they were, but may belong elsewhere
    now: list[Row] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.names or self.claims or self.reseat)


@dataclass
class _Names:
    """The names of a change as they are now."""

    changed: dict[int, Named] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)  # of those that changed, as `set_names` wants them
    dead: list[int] = field(default_factory=list)
    homes: dict[int, int | None] = field(default_factory=dict)  # of those that live
    orphaned: set[int] = field(default_factory=set)  # concepts that a name died of


@dataclass
class _Places:
    """Names that are part of another concept than before, and what follows for concepts."""

    homes: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    ending: list[Verb[None]] = field(default_factory=list)

    @property
    def verbs(self) -> list[Verb[None]]:
        return [*([store.place_names(self.homes)] if self.homes else ()), *self.ending]


async def settle(conn: Any, change: Change, *last: Verb[Any]) -> None:
    """`last`: what the transaction does in the end."""
    names = _read(change, await _names_now(conn, change))
    likes = await _compare(conn, change, names)
    places = await _place(conn, change, names, likes)
    touched = {home for home in (*names.homes.values(), *names.orphaned, *places.before.values()) if home is not None}
    setting = [store.set_concepts(touched, change.epoch)] if touched else []
    await arun_all(conn, [*places.verbs, *setting, *_relations(change, places.before), *last])


async def _names_now(conn: Any, change: Change) -> list[Row]:
    known = [row for row in change.now if row[0] in change.names]
    unknown = change.names - {row[0] for row in known}
    if not unknown:
        return known
    found = await arun(conn, store.names_now(unknown, change.space))
    return sorted([*known, *found], key=lambda row: str(row[1]))


def _read(change: Change, now: list[Row]) -> _Names:
    names, missing = _Names(), list[Meaning]()
    for id, form, rank, known, concept, has_vector, lead, label, type, context, terms in now:
        if lead is None:
            names.dead.append(id)
            names.orphaned |= {concept} - {None}
            continue
        names.homes[id] = concept
        named = Named(form, label, type, frozenset(terms))
        found_by = keys(named)
        stays = has_vector and lead == rank
        if stays and found_by == known:
            continue
        if not stays and lead not in change.vectors:
            missing.append(meaning(lead, label, context))
            continue
        new = None if stays else change.vectors[lead]
        names.changed[id] = named
        names.rows.append(
            (id, label, type, context, lead, found_by, new and new.vector, new and new.sketch.bits, new and new.sketch.bands)
        )
    if missing:
        raise Unprepared(missing)
    return names


async def _compare(conn: Any, change: Change, names: _Names) -> list[Verb[None]]:
    """A likeness is a function of the two names, so it is judged again when one of them changes, and never else."""
    dropping = [store.drop_names(names.dead)] if names.dead else []
    if not names.changed:
        await arun_all(conn, dropping)
        return []
    wanted = {id: probes(named) for id, named in names.changed.items()}
    verbs: list[Verb[Any]] = [
        *dropping,
        store.set_names(change.ontology, change.space, names.rows),
        store.likely_names(change.ontology, wanted, bits=DIFFERENT, cosine=COSINE),
    ]
    *_, found = await arun_all(conn, verbs)
    return [store.set_likes(change.ontology, names.changed, judged(names.changed, found))]


def judged(names: Mapping[int, Named], found: list[Row]) -> list[tuple[int, int, str, float]]:
    """Which of those that `likely_names` has found are alike: (one, other, outcome, score)."""
    likes: dict[tuple[int, int], tuple[str, float]] = {}
    for id, other, form, label, type, found_by, cosine in found:
        pair = (min(id, other), max(id, other))
        if pair not in likes:
            one = verdict(names[id], Named(form, label, type, aliases(found_by, form)), cosine)
            likes[pair] = (one.outcome, one.score)
    return [(one, other, outcome, score) for (one, other), (outcome, score) in likes.items() if outcome != "apart"]


async def _place(conn: Any, change: Change, names: _Names, likes: list[Verb[None]]) -> _Places:
    """Which concept each name is part of."""
    moving = names.changed.keys() | change.reseat
    if not moving and not names.orphaned:
        return _Places()
    nodes, ties = await _reached(conn, change, moving, names.orphaned, likes)
    found = grouping.clusters(nodes, ties)
    olds = {node.concept for node in nodes if node.concept is not None} | names.orphaned
    placed = grouping.place(found, await _moved_away(conn, found, olds))
    homes = await _with_new(conn, change, found, placed.homes)
    new = {node.id: home for cluster, home in zip(found, homes, strict=True) for node in cluster if node.concept != home}
    names.homes |= {node.id: home for cluster, home in zip(found, homes, strict=True) for node in cluster}
    before = {node.id: node.concept for node in nodes if node.id in new and node.concept is not None}
    return _Places(new, before, store.end_concepts(olds, placed.moves) if olds and (new or names.orphaned) else [])


async def _reached(
    conn: Any, change: Change, moving: set[int], orphaned: set[int], likes: list[Verb[None]]
) -> tuple[list[Node], list[Tie]]:
    """Mostly a chunk's names reach nobody else: then what ties them is known in the same round trip."""
    *_, rows, ties = await arun_all(conn, [*likes, store.reached_names(moving, orphaned), store.ties(change.ontology, moving)])
    nodes = [
        Node(id, Named(form, label, type, aliases(found_by, form)), concept, seen)
        for id, form, label, type, found_by, concept, seen in rows
    ]
    if {node.id for node in nodes} - moving:
        ties = await arun(conn, store.ties(change.ontology, [node.id for node in nodes]))
    return nodes, [Tie(one, other, score, kind != "same", kind == "decided apart") for one, other, kind, score in ties]


async def _moved_away(conn: Any, found: list[grouping.Cluster], olds: set[int]) -> dict[str, int]:
    """Only where a concept may come apart."""
    if not olds or len(found) < 2:
        return {}
    return await arun(conn, store.moves_to(olds))


async def _with_new(conn: Any, change: Change, found: list[grouping.Cluster], homes: list[int | None]) -> list[int]:
    known = {node.concept for cluster in found for node in cluster}
    fresh = [(home, cluster[0].form) for cluster, home in zip(found, homes, strict=True) if home is None or home not in known]
    made = await arun(conn, store.add_concepts(change.ontology, change.epoch, fresh)) if fresh else {}
    kept = {cluster[0].form: home for cluster, home in zip(found, homes, strict=True) if home is not None}
    return [(kept | made)[cluster[0].form] for cluster in found]


def _relations(change: Change, moved: Mapping[int, int]) -> list[Verb[None]]:
    before = [(row[3], row[4], row[2]) for row in change.claims]
    claims = [(row[0], row[1], row[2]) for row in change.claims]
    first = [store.set_relations(change.ontology, [], [], moved)] if moved else []
    slices = range(0, len(claims), SLICE)
    return first + [store.set_relations(change.ontology, claims[at : at + SLICE], before[at : at + SLICE], {}) for at in slices]
