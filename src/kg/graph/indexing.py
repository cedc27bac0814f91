"""Puts vectors of concepts into their index, after the commit that made them: nobody waits for it under an ontology's lock. A
concept whose vector is not in it yet is found all the same, one by one (`kg.find_near`). What a process leaves undone when it dies,
the next one to write does, or the platform's upkeep."""

from __future__ import annotations

import asyncio
import time

from kg._store.graph import index_concepts
from lanework import Lanework

#: Concepts of one statement. Somebody who wants to delete one of them waits for it, and to put one in takes a few milliseconds.
AT_ONCE = 8
#: A third of a core: nobody waits for this, and others want to write.
PAUSE = 2.0


async def index(work: Lanework, most: int = 1000) -> int:
    """How many were done: all that others are not at, and not many more than `most`."""
    done = 0
    while True:
        began = time.monotonic()
        found = await work._arun(index_concepts(AT_ONCE))
        done += found
        if found < AT_ONCE or done >= most:
            return done
        await asyncio.sleep(PAUSE * (time.monotonic() - began))
