"""Puts vectors of concepts and passages into their indexes, after the commit that made them: nobody waits for it under a lock. One
whose vector is not in it yet is found all the same, one by one (`kg.find_near`). What a process leaves undone when it dies, the
next one to write does, or the platform's upkeep."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from kg._store.graph import index_concepts, index_passages
from kg._store.verb import Verb
from lanework import Lanework

#: Vectors of one statement. Who wants to delete one of their rows waits for it, and to put one in takes a few milliseconds.
AT_ONCE = 8
#: A third of a core: nobody waits for this, and others want to write.
PAUSE = 2.0


async def index(work: Lanework, most: int = 1000) -> int:
    """How many were done: all that others are not at, and of concepts and of passages not many more than `most` each."""
    return await _index(work, index_concepts, most) + await _index(work, index_passages, most)


async def _index(work: Lanework, some: Callable[[int], Verb[int]], most: int) -> int:
    done = 0
    while True:
        began = time.monotonic()
        found = await work._arun(some(AT_ONCE))
        done += found
        if found < AT_ONCE or done >= most:
            return done
        await asyncio.sleep(PAUSE * (time.monotonic() - began))
