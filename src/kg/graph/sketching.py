"""Sketches of an older form are made again, after an upgrade: from the vectors that are there, some names at a time, each time
under the lock of their ontology. Names that are alike by the new rule as they were by the old one stay where they are; for the
others all follows that follows from it. In the end every two names have been judged by the new rule, as if there had never been
another one. Until then a name that is not done is found by its keys."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from kg._store import graph as store
from kg._store.graph import arun_all
from kg._store.transaction import Transaction, once
from kg._store.verb import Row
from kg.errors import Unprepared
from kg.graph.keys import keys, probes
from kg.graph.likeness import Named
from kg.graph.settle import Change, judged, settle
from kg.graph.sketch import COSINE, DIFFERENT, Sketch, sketches
from lanework import Lanework

#: Names of a piece: a tenth of a second of the lock.
AT_ONCE = 100
#: Half a core: nobody waits for this, and others want to write.
PAUSE = 1.0


@dataclass
class _Piece:
    """Names as they are under the lock. `others` have changed since they were read, or are nobody's any more."""

    named: dict[int, Named] = field(default_factory=dict)
    others: set[int] = field(default_factory=set)


async def resketch(work: Lanework, most: int) -> int:
    """How many were done: all that there are, and not many more than `most`."""
    done = 0
    while done < most:
        began = time.monotonic()
        if not (found := await work._arun(store.old_sketches(AT_ONCE))):
            return done
        try:
            await once(work, partial(_again, found))
            done += len(found)
        except Unprepared:  # one has changed since it was read, and has its sketch by that; the others come with the next look
            done += 1
        await asyncio.sleep(PAUSE * (time.monotonic() - began))
    return done


async def _again(found: list[Row], tx: Transaction) -> None:
    ontology, space, *_ = found[0]
    ranks = {name: rank for _, _, name, rank, _ in found}
    vectors = np.array([vector for *_, vector in found], np.float32)
    made = dict(zip(ranks, sketches(vectors, [ontology] * len(found), space), strict=True))
    verbs = [store.lock_ontology(ontology), store.epoch_now(ontology), store.names_now(ranks, space), store.likes_of(ranks)]
    _, epoch, now, before = await arun_all(tx.connection, verbs)
    piece = _read(now, ranks)
    changed = await _compare(tx, ontology, piece, made, before)
    change = Change(ontology, space, (epoch or 0) + 1, {}, piece.others, reseat=changed)
    if change:
        last = store.next_epoch(ontology, change.epoch, "sketches made again", actor="", job=None, names=len(ranks))
        await settle(tx.connection, change, last)


def _read(now: list[Row], ranks: dict[int, bytes]) -> _Piece:
    piece = _Piece()
    for id, form, rank, _, _, is_done, lead, label, type, _, terms in now:
        if lead is None or lead != rank:
            piece.others.add(id)
        elif not is_done and rank == ranks[id]:
            piece.named[id] = Named(form, label, type, frozenset(terms))
    return piece


async def _compare(tx: Transaction, ontology: int, piece: _Piece, made: dict[int, Sketch], before: list[Row]) -> set[int]:
    """Answers with the names that are alike others than before."""
    if not piece.named:
        return set()
    rows = [(id, made[id].bits, made[id].bands, keys(named)) for id, named in piece.named.items()]
    wanted = {id: probes(named) for id, named in piece.named.items()}
    verbs: list[Any] = [store.set_sketches(rows), store.likely_names(ontology, wanted, bits=DIFFERENT, cosine=COSINE)]
    *_, found = await arun_all(tx.connection, verbs)
    likes = judged(piece.named, found)
    known = {row for row in before if row[0] in piece.named or row[1] in piece.named}
    changed = known ^ set(likes)
    if changed:
        await tx.run(store.set_likes(ontology, piece.named, likes))
    return {id for one, other, *_ in changed for id in (one, other)}
