"""Reading a large graph: how long searches and paths take, and how many of the true neighbours are found."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
import psycopg

from kg._store.schema import prepare
from kg.bench import synthetic
from kg.bench.context import Bench
from kg.graph.reader import Reader
from kg.graph.searching import MODES
from kg.parts import Embedded
from lanework import Lanework
from lanework.bench.home import say
from lanework.bench.report import Limit, Line, Section

WARM = 20


class Told:
    """An embedder that was told its vectors: what is measured is the search."""

    name = synthetic.MODEL

    def __init__(self, vectors: dict[str, Any], dimensions: int) -> None:
        self._vectors, self.dimensions = vectors, dimensions

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple(self._vector(text) for text in texts))

    def _vector(self, text: str) -> tuple[float, ...]:
        """Names of relation types are embedded too; where they lie does not matter here."""
        if text in self._vectors:
            return tuple(self._vectors[text].tolist())
        made = np.random.default_rng(list(text.encode())).normal(size=self.dimensions)
        return tuple((made / np.linalg.norm(made)).tolist())


def measure(bench: Bench) -> list[Section]:
    size = synthetic.Size(concepts=bench.sizes.concepts, relations=bench.sizes.relations)
    with bench.server.fresh() as dsn:
        with Lanework(dsn) as work:
            prepare(work)
        say(f"loading {size.concepts:,} concepts and {size.relations:,} relations")
        began = time.monotonic()
        with psycopg.connect(dsn, autocommit=True) as db:
            made = synthetic.load(db, size)
            loaded = time.monotonic() - began
            texts = _texts(db, bench.sizes.searches + WARM)
        vectors = synthetic.queries(made, len(texts))
        lines = asyncio.run(_measure(dsn, made, dict(zip(texts, vectors, strict=True)), bench.sizes.searches))
    lines.append(Line("index of the vectors, built", "graph_index_s", made.index_seconds, "s"))
    lines.append(Line("loaded by COPY, index and all", "graph_load_s", loaded, "s"))
    return [
        Section(f"A graph of {size.concepts:,} concepts and {len(made.edges):,} relations, {size.dimensions} dimensions", lines)
    ]


def _texts(db: psycopg.Connection[Any], count: int) -> list[str]:
    """A word of a label and two of a description each."""
    rows = db.execute(
        "select distinct concat_ws(' ', split_part(label, ' ', 2), split_part(description, ' ', 3), split_part(description, ' ', 6)"
        ", split_part(label, ' ', 3)) from kg.concepts where id %% 7 = 3 limit %s", [count],
    )  # fmt: skip
    return [str(text) for (text,) in rows]


async def _measure(dsn: str, made: synthetic.Synthetic, vectors: dict[str, Any], count: int) -> list[Line]:
    async with Lanework(dsn) as work:
        reader = Reader(work, Told(vectors, made.size.dimensions))
        lines = []
        for mode in MODES:
            times = await _times(list(vectors), lambda text, mode=mode: reader.search(text, mode=mode))  # type: ignore[misc]
            lines.append(_p50(f"search, {mode}, 10 hits with their evidence", f"search_{mode}_p50_ms", times, 10))
            lines.append(Line("  the slowest twentieth, from", f"search_{mode}_p95_ms", _p95(times), "ms"))
        times = await _times(_pairs(made, count + WARM), lambda pair: reader.connect(*pair))
        lines.append(_p50("3 paths of at most 4 steps, with their evidence", "paths_p50_ms", times, 50))
        lines.append(Line("  the slowest twentieth, from", "paths_p95_ms", _p95(times), "ms"))
        recall = await _recall(reader, made, vectors)
        lines.append(Line("recall of the nearest 10", "search_recall", recall, limit=Limit("≥", 0.95)))
        return lines


async def _times(asked: Sequence[Any], ask: Callable[[Any], Awaitable[Any]]) -> list[float]:
    times = []
    for one in asked:
        began = time.perf_counter()
        await ask(one)
        times.append((time.perf_counter() - began) * 1000)
    return times[WARM:]


def _p50(label: str, key: str, times: Sequence[float], most: float) -> Line:
    return Line(label, key, statistics.median(times), "ms", limit=Limit("≤", most))


def _p95(times: Sequence[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


def _pairs(made: synthetic.Synthetic, count: int) -> list[tuple[int, int]]:
    """Ends that are connected: where a walk of two to four steps leads."""
    import numpy as np  # noqa: PLC0415

    chance = np.random.default_rng(13)
    near: dict[int, list[int]] = {}
    for start, end, _ in made.edges.tolist():
        near.setdefault(start, []).append(end)
        near.setdefault(end, []).append(start)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count:
        start = here = int(chance.integers(1, made.size.concepts))
        for _ in range(2 + len(pairs) % 3):
            here = int(chance.choice(near.get(here, [here])))
        if here != start:
            pairs.append((start, here))
    return pairs


async def _recall(reader: Reader, made: synthetic.Synthetic, vectors: dict[str, Any]) -> float:
    shares = []
    for text, vector in list(vectors.items())[:200]:
        found = {hit.id for hit in (await reader.search(text, mode="semantic")).concepts}
        exact = {int(n) + 1 for n in (made.vectors @ vector).argsort()[-10:]}
        shares.append(len(found & exact) / 10)
    return statistics.mean(shares)
