"""Whoever sends documents and asks how far they are: a process of its own, as the one that serves HTTP. What it does is not part of
the worker, which is measured.

python -m kg.bench.sender DSN    prints a line when it is ready, takes texts as JSON, and tells what came of them
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import NoReturn

from kg import lanes
from kg.config import KgSettings
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.jobs import ingestion
from lanework import Lanework

UNDER_WAY = ["queued", "estimating", "processing"]


def _not_here() -> NoReturn:
    raise RuntimeError("documents are read by the worker")


async def main(dsn: str) -> None:
    async with Lanework(dsn) as work:
        lanes.declare(work, KgSettings.load())
        job = ingestion.declare(work, _not_here)
        documents = Documents(work, job, _not_here, sniff=lambda *_: "text/plain", size_limit=10_000_000)
        before = {one.id for one in await documents.find(limit=1000)}
        _say("")
        texts = json.loads(await asyncio.to_thread(sys.stdin.read))
        began = time.monotonic()
        for n, text in enumerate(texts):
            await documents.accept(New(text.encode(), name=f"{n}.txt", ontology="bench", owner="bench"))
        while await documents.find(status=UNDER_WAY, limit=1):  # noqa: ASYNC110 - it is the database that knows
            await asyncio.sleep(0.25)
        seconds = time.monotonic() - began
        done = [one for one in await documents.find(status=["completed"], limit=1000) if one.id not in before]
        _say(json.dumps({"seconds": seconds, "chunks": [one.chunks for one in done]}))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
