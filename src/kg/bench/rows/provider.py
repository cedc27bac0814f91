"""Is the provider kept busy? Calls of 200 ms, 8 allowed, 200 calls over 40 documents, through the whole pipeline."""

from __future__ import annotations

import hashlib
import json
import random
import statistics
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kg.bench.context import Bench
from kg.bench.house import house
from kg.config import KgSettings
from kg.parts import Embedded
from lanework._worker import calm_collector, runner
from lanework.bench import install
from lanework.bench.home import say
from lanework.bench.report import Limit, Line, Section

DOCUMENTS, CHUNKS, SECONDS, ALLOWED = 40, 5, 0.2, 8
#: A run takes five seconds, and another machine's load on these cores takes two points of a hundred: the median of so many counts.
RUNS = 5
#: Chunks of one document by itself.
LONG = 100
LIGHTRAG = ["lightrag-hku>=1.5,<2", "numpy>=2,<3"]
DRIVERS = Path(__file__).parents[1] / "peers"


class Hashed:
    """Vectors that cost nothing: what is measured is how calls of the chat model are spread."""

    name, dimensions, free = "bench-hash", 16, True

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple(_unit(hashlib.sha256(text.encode()).digest()[:16]) for text in texts))


def _unit(data: bytes) -> tuple[float, ...]:
    length = sum((byte - 127.5) ** 2 for byte in data) ** 0.5
    return tuple((byte - 127.5) / length for byte in data)


@dataclass(frozen=True)
class Told:
    """What the provider has counted. `wall`: seconds from the first submit to the last document, as we see it."""

    began: list[float]
    ended: list[float]
    refused: int
    wall: float

    @property
    def busy(self) -> float:
        """The share of its places that were taken, from the first call to the end of the last. A place is empty at the end, too,
        when nothing is left to be called."""
        return (sum(self.ended) - sum(self.began)) / (ALLOWED * (max(self.ended) - min(self.began)))

    @property
    def gap(self) -> float:
        """From the end of a call to the beginning of the one that has its place, in milliseconds: the median."""
        pairs = zip(sorted(self.began)[ALLOWED:], sorted(self.ended), strict=False)
        return statistics.median(begun - ended for begun, ended in pairs) * 1000

    @property
    def ideal(self) -> float:
        """Of the wall."""
        return len(self.began) * SECONDS / ALLOWED / self.wall


def measure(bench: Bench) -> list[Section]:
    calm_collector()  # as in a worker process
    runs = [_told(bench, [_text(n) for n in range(DOCUMENTS)], CHUNKS) for _ in range(RUNS)]
    many = sorted(runs, key=lambda told: told.busy)[RUNS // 2]
    one = _told(bench, [_text(DOCUMENTS, LONG)], LONG)
    peer = Line("LightRAG, a model in its process: ideal time / time", "lightrag_ideal_of_wall", None, reason="left out")
    if bench.peers:
        peer = _lightrag()
    calls = f"{DOCUMENTS * CHUNKS} calls over {DOCUMENTS} documents"
    return [
        Section(
            f"A provider with calls of {SECONDS * 1000:.0f} ms, {ALLOWED} at a time: {calls}",
            [
                Line(f"busy, first call to last, median of {RUNS}", "provider_busy", many.busy, limit=Limit("≥", 0.95)),
                Line("  the worst of them", "provider_busy_worst", min(told.busy for told in runs)),
                Line("  the best", "provider_busy_best", max(told.busy for told in runs)),
                Line("  from the end of a call to the next one, half of them within", "provider_gap_ms", many.gap, "ms"),
                Line("ideal time / time from the first submit to the last document", "provider_ideal_of_wall", many.ideal),
                Line("calls refused with 429", "provider_refused", sum(told.refused for told in [*runs, one])),
                Line(f"one document of {LONG} chunks: busy, first call to last", "provider_busy_one", one.busy),
                peer,
            ],
        )
    ]


def _told(bench: Bench, texts: Sequence[str], chunks: int) -> Told:
    with bench.server.fresh() as dsn, _provider() as port:
        with runner() as loop:
            wall = loop.run(_ingest(dsn, port, texts, chunks))
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
            told = Told(**json.loads(answer.read()), wall=wall)
    if len(told.ended) != len(texts) * chunks:
        raise RuntimeError(f"expected {len(texts) * chunks} calls, the provider has counted {len(told.ended)}")
    return told


async def _ingest(dsn: str, port: int, texts: Sequence[str], chunks: int) -> float:
    settings = KgSettings.load(chat="openai:fake", openai_url=f"http://127.0.0.1:{port}/v1", model_concurrency=ALLOWED)
    async with house(dsn, settings, Hashed()) as here:
        say("ingesting")
        wall, done = await here.ingest(texts)
    if set(done) != {chunks}:
        raise RuntimeError(f"expected documents of {chunks} chunks, got {sorted(set(done))}")
    return wall


def _text(number: int, chunks: int = CHUNKS) -> str:
    """Of so many words that it has so many chunks."""
    some = random.Random(number)  # noqa: S311 - no secret
    return "\n\n".join(
        f"Paragraph {number}.{n} is about Concept{some.randrange(400)}, has these words or some others, and then it ends."
        for n in range(chunks * 54)
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
    # a session of its own: a provider is another machine, and what its places wait for is not to be a share of this one's cores
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.kill()
