"""From what was said to what is: names, who is like whom, concepts, relations. Only what changed is computed again.

Runs in the transaction that changed it, under the ontology's lock. What is dear (vectors and their sketches) was made before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kg._store import graph as store
from kg._store.graph import arun
from kg.errors import Unprepared
from kg.graph import clusters as grouping
from kg.graph.clusters import Node, Tie
from kg.graph.keys import aliases, keys, probes
from kg.graph.likeness import Named, verdict
from kg.graph.said import Meaning, meaning
from kg.graph.sketch import COSINE, DIFFERENT, Sketch, sketch
from kg.parts import Vector

#: Claims whose relations are computed by one statement. A chunk has fewer; a document that goes has many.
SLICE = 500


@dataclass(frozen=True)
class Placeable:
    """A vector as it is stored, with its sketch: made before the lock is taken."""

    vector: str
    sketch: Sketch


def placeable(vectors: Mapping[bytes, Vector], *, ontology: int, space: int) -> dict[bytes, Placeable]:
    return {
        rank: Placeable(store.vector_text(vector), sketch(vector, ontology=ontology, space=space))
        for rank, vector in vectors.items()
    }


@dataclass
class Change:
    """What a transaction has changed in an ontology and must settle. `claims` are rows as `put_claims` answers."""

    ontology: int
    space: int
    epoch: int
    vectors: Mapping[bytes, Placeable]
    names: set[int] = field(default_factory=set)
    claims: list[tuple[Any, ...]] = field(default_factory=list)
    reseat: set[int] = field(default_factory=set)  # names that are what they were, but may belong elsewhere

    def __bool__(self) -> bool:
        return bool(self.names or self.claims or self.reseat)


@dataclass
class _Names:
    """The names of a change as they are now."""

    changed: dict[int, Named] = field(default_factory=dict)
    homes: dict[int, int | None] = field(default_factory=dict)  # of those that live
    orphaned: set[int] = field(default_factory=set)  # concepts that a name died of


async def settle(conn: Any, change: Change) -> None:
    names = await _set_names(conn, change)
    await _compare(conn, change, names.changed)
    moved = await _place(conn, change, names)
    await _set_concepts(conn, change, names, moved)
    before = [(row[3], row[4], row[2]) for row in change.claims]
    claims = [(row[0], row[1], row[2]) for row in change.claims]
    if moved:
        await arun(conn, store.set_relations(change.ontology, [], [], moved))
    for at in range(0, len(claims), SLICE):
        await arun(conn, store.set_relations(change.ontology, claims[at : at + SLICE], before[at : at + SLICE], {}))


async def _set_names(conn: Any, change: Change) -> _Names:
    names, dead, rows, missing = _Names(), [], [], list[Meaning]()
    if not change.names:
        return names
    for id, form, rank, known, concept, has_vector, lead, label, type, context, terms in await arun(
        conn, store.names_now(change.names, change.space)
    ):
        if lead is None:
            dead.append(id)
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
        rows.append(
            (id, label, type, context, lead, found_by, new and new.vector, new and new.sketch.bits, new and new.sketch.bands)
        )
    if missing:
        raise Unprepared(missing)
    if dead:
        await arun(conn, store.drop_names(dead))
    if rows:
        await arun(conn, store.set_names(change.ontology, change.space, rows))
    return names


async def _compare(conn: Any, change: Change, changed: Mapping[int, Named]) -> None:
    """A likeness is a function of the two names, so it is judged again when one of them changes, and never else."""
    if not changed:
        return
    wanted = {id: probes(named) for id, named in changed.items()}
    found = await arun(conn, store.likely_names(change.ontology, wanted, bits=DIFFERENT, cosine=COSINE))
    likes: dict[tuple[int, int], tuple[str, float]] = {}
    for id, other, form, label, type, found_by, cosine in found:
        pair = (min(id, other), max(id, other))
        if pair not in likes:
            judged = verdict(changed[id], Named(form, label, type, aliases(found_by, form)), cosine)
            likes[pair] = (judged.outcome, judged.score)
    kept = [(one, other, outcome, score) for (one, other), (outcome, score) in likes.items() if outcome != "apart"]
    await arun(conn, store.set_likes(change.ontology, changed, kept))


async def _place(conn: Any, change: Change, names: _Names) -> dict[int, int | None]:
    """Which concept each name is part of. Answers with the names that had another one before, and which."""
    moving = names.changed.keys() | change.reseat
    if not moving and not names.orphaned:
        return {}
    nodes = [
        Node(id, Named(form, label, type, aliases(found_by, form)), concept, seen)
        for id, form, label, type, found_by, concept, seen in await arun(conn, store.reached_names(moving, names.orphaned))
    ]
    found = grouping.clusters(nodes, await _ties(conn, change, nodes))
    olds = {node.concept for node in nodes if node.concept is not None} | names.orphaned
    placed = grouping.place(found, await _moved_away(conn, found, olds))
    homes = await _with_new(conn, change, found, placed.homes)
    places = {node.id: home for cluster, home in zip(found, homes, strict=True) for node in cluster if node.concept != home}
    if places:
        await arun(conn, store.place_names(places))
    names.homes |= {node.id: home for cluster, home in zip(found, homes, strict=True) for node in cluster}
    if olds and (places or names.orphaned):
        gone = await arun(conn, store.drop_concepts(olds, placed.moves))
        if gone:
            await arun(conn, store.end_concepts(gone))
        names.orphaned -= gone
    return {node.id: node.concept for node in nodes if node.id in places and node.concept is not None}


async def _ties(conn: Any, change: Change, nodes: list[Node]) -> list[Tie]:
    if len(nodes) < 2:
        return []
    found = await arun(conn, store.ties(change.ontology, [node.id for node in nodes]))
    return [Tie(one, other, score, kind != "same", kind == "decided apart") for one, other, kind, score in found]


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


async def _set_concepts(conn: Any, change: Change, names: _Names, moved: Mapping[int, int | None]) -> None:
    touched = {home for home in (*names.homes.values(), *names.orphaned, *moved.values()) if home is not None}
    if touched:
        await arun(conn, store.set_concepts(touched, change.epoch))
