"""The graph's upkeep: what a process began and could not finish. Who writes does it himself; this is for when he died."""

from __future__ import annotations

from collections.abc import Callable

from kg._store.leaving import leaving_ontologies
from kg._store.reading import use_space
from kg.graph import leaving
from kg.graph.indexing import index
from kg.ingest.pipeline import Pipeline
from lanework import Context, Lanework


def declare(work: Lanework, pipeline: Callable[[], Pipeline]) -> None:
    @work.maintenance("graph", every=60, timeout=600)
    async def graph(ctx: Context) -> dict[str, int]:
        """Documents that are half gone go; vectors of concepts get into their index."""
        pieces = 0
        if await work._arun(leaving_ontologies()):  # models are not loaded for nothing
            embed = pipeline().embed
            pieces = await leaving.finish(work, embed, await work._arun(use_space(embed.name, embed.dimensions)))
        return {"pieces": pieces, "indexed": await index(work)}
