"""The graph's upkeep: what a process that died has left, or an upgrade; the last few vectors that are not in their index yet."""

from __future__ import annotations

from collections.abc import Callable

from kg._store.leaving import leaving_ontologies
from kg._store.reading import use_space
from kg.graph import leaving
from kg.graph.indexing import index
from kg.graph.sketching import resketch
from kg.ingest.pipeline import Pipeline
from lanework import Context, Lanework

#: Sketches of one round, and vectors.
MOST = 20_000


def declare(work: Lanework, pipeline: Callable[[], Pipeline]) -> None:
    @work.maintenance("graph", every=30, timeout=600)
    async def graph(ctx: Context) -> dict[str, int]:
        """Documents that are half gone go; vectors of concepts and passages get into their indexes."""
        pieces = 0
        if await work._arun(leaving_ontologies()):  # models are not loaded for nothing
            embed = pipeline().embed
            pieces = await leaving.finish(work, embed, await work._arun(use_space(embed.name, embed.dimensions)))
        return {"pieces": pieces, "sketched": await resketch(work, MOST), "indexed": await index(work, MOST)}
