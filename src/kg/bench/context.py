"""What every row is given."""

from __future__ import annotations

import os
from dataclasses import dataclass

from lanework.bench.server import Server


@dataclass(frozen=True, slots=True)
class Sizes:
    concepts: int = 100_000
    relations: int = 500_000
    searches: int = 500
    """Searches of each kind, and paths, that are timed."""
    names: int = 90_000
    """Of the ontology that is written to."""
    chunks: int = 200
    """That are written to it, as one document."""


FULL = Sizes()
QUICK = Sizes(searches=100, names=10_000, chunks=50)


@dataclass(frozen=True, slots=True)
class Bench:
    server: Server
    sizes: Sizes
    peers: bool = True

    def conditions(self, mode: str) -> dict[str, str | int | float]:
        load = round(os.getloadavg()[0], 2)
        return {"mode": mode, **self.server.conditions(), "cores": os.cpu_count() or 1, "load": load}
