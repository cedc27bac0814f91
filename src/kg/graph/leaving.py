"""A large document goes: in pieces, so that others write between them.

Its chunks lose their document first, in one short transaction: from then on nobody finds them or can write for them. What they
said is taken out name by name and not chunk by chunk: so each name is settled once, with those that are left, and no vector is
made for a mention that goes with the next piece. Every piece leaves a graph that is right for what is still said. Whoever dies in
between has lost nothing: the chunks are still on the list, and the next to look at it goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from kg._store import leaving as store
from kg._store.transaction import Transaction, once
from kg.graph.said import meaning
from kg.graph.writing import Vectors, remove_names, with_vectors
from kg.parts import Embed
from lanework import Lanework

#: Chunks that go at once, in the transaction that takes their document away. More go in pieces.
FEW = 16
#: Names of a piece: some tenths of a second of the lock.
NAMES = 200
SOURCES = 500


async def leave(conn: Any, ontology: int, sources: Sequence[int]) -> None:
    await Transaction(conn).run(store.leave(ontology, sources))


async def finish(work: Lanework, embed: Embed, space: int, *, patience: float = math.inf) -> int:
    """What is on the list now, of all ontologies. Answers how many pieces it took. After so many seconds of `patience` the rest is
    left to the platform's upkeep."""
    pieces, end = 0, time.monotonic() + patience
    for ontology in await work._arun(store.leaving_ontologies()):
        while names := await work._arun(store.leaving_names(ontology, NAMES)):
            if time.monotonic() >= end:
                return pieces
            await _remove(work, embed, ontology, names, space)
            pieces += 1
            await work._arun(store.leave_sources(ontology, SOURCES))
        while await work._arun(store.leave_sources(ontology, SOURCES)):
            pass
    return pieces


async def _remove(work: Lanework, embed: Embed, ontology: int, names: set[int], space: int) -> None:
    wanted = [meaning(*row) for row in await work._arun(store.leaving_meanings(names, space))]

    async def within(vectors: Vectors, tx: Transaction) -> None:
        await remove_names(tx.connection, ontology, names, vectors=vectors, space=space)

    async def act(vectors: Vectors) -> None:
        await once(work, partial(within, vectors))

    await with_vectors(embed, wanted, act)
