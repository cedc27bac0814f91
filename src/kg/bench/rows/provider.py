"""Is the provider kept busy? Calls of 200 ms, 8 allowed, 200 calls over 40 documents, through the whole pipeline."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kg._store.schema import prepare
from kg.bench.context import Bench
from kg.config import KgSettings
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.graph.growth import Growth
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.ingest.pipeline import Pipeline
from kg.jobs import ingestion
from kg.models.models import Models
from kg.parts import Embedded, Parsed
from lanework import Lanework
from lanework._worker import calm_collector, runner
from lanework.bench import install
from lanework.bench.home import say
from lanework.bench.report import Limit, Line, Section

DOCUMENTS, CHUNKS, SECONDS, ALLOWED = 40, 5, 0.2, 8
#: Documents at a time: while the last chunks of one are read, others begin.
SLOTS = 16
LIGHTRAG = ["lightrag-hku>=1.5,<2", "numpy>=2,<3"]
DRIVERS = Path(__file__).parents[1] / "peers"


class Hashed:
    """Vectors that cost nothing: what is measured is how calls of the chat model are spread."""

    name, dimensions = "bench-hash", 16

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple(_unit(hashlib.sha256(text.encode()).digest()[:16]) for text in texts))


def _unit(data: bytes) -> tuple[float, ...]:
    length = sum((byte - 127.5) ** 2 for byte in data) ** 0.5
    return tuple((byte - 127.5) / length for byte in data)


async def plain(data: bytes, media_type: str, name: str) -> Parsed:
    return Parsed(data.decode())


def measure(bench: Bench) -> list[Section]:
    with bench.server.fresh() as dsn, _provider() as port:
        calm_collector()  # as in a worker process
        with runner() as loop:
            wall = loop.run(_ingest(dsn, port))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            counted = json.loads(answer.read())
    calls, span = DOCUMENTS * CHUNKS, counted["last"] - counted["first"]
    if counted["calls"] != calls:
        raise RuntimeError(f"expected {calls} calls, the provider has counted {counted['calls']}")
    ideal = calls * SECONDS / ALLOWED
    peer = Line("LightRAG, a model in its process: ideal time / time", "lightrag_ideal_of_wall", None, reason="left out")
    if bench.peers:
        peer = _lightrag()
    return [
        Section(
            f"A provider with calls of {SECONDS * 1000:.0f} ms, {ALLOWED} at a time: {calls} calls over {DOCUMENTS} documents",
            [
                Line("busy, first call to last", "provider_busy", counted["busy"] / (ALLOWED * span), limit=Limit("≥", 0.95)),
                Line("ideal time / time from the first submit to the last document", "provider_ideal_of_wall", ideal / wall),
                Line("calls refused with 429", "provider_refused", counted["refused"]),
                peer,
            ],
        )
    ]


async def _ingest(dsn: str, port: int) -> float:
    async with Lanework(dsn) as work:
        work.lane("interactive", max_slots=SLOTS, poll_interval_ms=100)
        settings = KgSettings.load(chat="openai:fake", openai_url=f"http://127.0.0.1:{port}/v1", model_concurrency=ALLOWED)
        models = Models.from_settings(settings, work)
        pipeline = Pipeline(plain, WordChunker(), passages, models.extractor, Hashed(), Growth(work), ALLOWED)
        job = ingestion.declare(work, lambda: pipeline)
        documents = Documents(work, job, lambda: pipeline, sniff=lambda *_: "text/plain", size_limit=10_000_000)
        await asyncio.to_thread(prepare, work)
        await models.load()  # as a worker does before its first job
        say("ingesting")
        async with work.worker():
            began = time.monotonic()
            for n in range(DOCUMENTS):
                await documents.accept(New(_text(n).encode(), name=f"{n}.txt", ontology="bench", owner="bench"))
            while left := await documents.find(status=["queued", "estimating", "processing"], limit=1):  # noqa: ASYNC110 - it is the database that knows
                await asyncio.sleep(0.1)
            wall = time.monotonic() - began
        done = await documents.find(status=["completed"], limit=1000)
        if left or len(done) != DOCUMENTS or {one.chunks for one in done} != {CHUNKS}:
            raise RuntimeError(
                f"{len(done)} of {DOCUMENTS} documents were completed, with {sorted({one.chunks for one in done})} chunks"
            )
        await models.close()
        return wall


def _text(number: int) -> str:
    """Of so many words that it has `CHUNKS` chunks."""
    some = random.Random(number)  # noqa: S311 - no secret
    return "\n\n".join(
        f"Paragraph {number}.{n} is about Concept{some.randrange(400)}, has these words or some others, and then it ends."
        for n in range(270)
    )


def _lightrag() -> Line:
    """As many documents and about as many calls, eight names and six relations in each answer, as ours."""
    label, key = "LightRAG, a model in its process: ideal time / time", "lightrag_ideal_of_wall"
    try:
        python = install.python(LIGHTRAG, "lightrag")
        say("LightRAG is ingesting")
        words = [str(python), str(DRIVERS / "lightrag_driver.py"), str(DOCUMENTS), "900", str(SECONDS), str(ALLOWED)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)  # noqa: S603 - a driver of ours
        found = json.loads(done.stdout.strip().splitlines()[-1])
    except (install.CannotInstall, subprocess.SubprocessError, ValueError, IndexError) as error:
        return Line(label, key, None, reason=str(error)[:200])
    return Line(f"LightRAG {found['version']}, {found['calls']} calls, its model in its process: ideal time / time", key,
                found["calls"] * SECONDS / ALLOWED / found["wall"])  # fmt: skip


@contextmanager
def _provider() -> Iterator[int]:
    words = [sys.executable, "-m", "kg.bench.fake", str(SECONDS), str(ALLOWED)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own interpreter
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
