"""Sketches of an older form are made again, after an upgrade: from the vectors that are there, some names at a time, each time
under the lock of their ontology and with all that follows from it. In the end every two names have been judged by the new rule, as
if there had never been another one. Until then a name that is not done is found by its keys."""

from __future__ import annotations

from functools import partial
from typing import Any

from kg._store import graph as store
from kg._store.transaction import Transaction, once
from kg.errors import Unprepared
from kg.graph.settle import Change, placeable, settle
from lanework import Lanework

#: Names of a piece: a tenth of a second of the lock or two.
AT_ONCE = 50


async def resketch(work: Lanework, most: int) -> int:
    """How many were done: all that there are, and not many more than `most`."""
    done = 0
    while done < most and (found := await work._arun(store.old_sketches(AT_ONCE))):
        try:
            await once(work, partial(_again, found))
            done += len(found)
        except Unprepared:  # one has changed since it was read, and has its sketch by that; the others come with the next look
            done += 1
    return done


async def _again(found: list[tuple[Any, ...]], tx: Transaction) -> None:
    ontology, space, *_ = found[0]
    ready = placeable({rank: vector for _, _, _, rank, vector in found}, ontology=ontology, space=space)
    await tx.run(store.lock_ontology(ontology))
    epoch = (await tx.run(store.epoch_now(ontology)) or 0) + 1
    names = {name for _, _, name, _, _ in found}
    last = store.next_epoch(ontology, epoch, "sketches made again", actor="", job=None, names=len(names))
    await settle(tx.connection, Change(ontology, space, epoch, ready, names), last)
