"""Puts vectors of concepts and passages into their indexes, after the commit that made them: nobody waits for it under a lock. One
whose vector is not in it yet is found all the same, one by one (`kg.find_near`). What a process leaves undone when it dies, the
next one to write does, or the platform's upkeep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from kg._store.graph import count_unindexed, index_concepts, index_passages
from kg._store.verb import Verb
from lanework import Lanework

#: Vectors of one statement. Who wants to delete one of their rows waits for it, and to put one in takes a few milliseconds.
AT_ONCE = 8
#: A third of a core: nobody waits for this, and others want to write.
PAUSE = 2.0


async def index(work: Lanework, most: int = 2000) -> int:
    """How many were done: of what waits now and others are not at, of concepts and of passages not many more than `most` each. What
    comes meanwhile is left: who runs after those that write takes from them what they need."""
    concepts, passages = await work._arun(count_unindexed())
    return await _index(work, index_concepts, min(concepts, most)) + await _index(work, index_passages, min(passages, most))


async def _index(work: Lanework, some: Callable[[int], Verb[int]], most: int) -> int:
    done, found = 0, AT_ONCE
    while done < most and found == AT_ONCE:
        began = time.monotonic()
        found = await work._arun(some(AT_ONCE))
        done += found
        await asyncio.sleep(PAUSE * (time.monotonic() - began))
    return done
