"""What every row is given."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from lanework.bench.server import Server
from lanework.bench.sizes import Sizes


@dataclass(slots=True)
class Bench:
    server: Server
    sizes: Sizes
    peers: bool = True
    started: float = field(default_factory=time.monotonic)

    def late(self) -> bool:
        """True when the run has used its time: rows are then measured once instead of several times."""
        return time.monotonic() - self.started > self.sizes.budget_seconds

    def conditions(self, mode: str) -> dict[str, str | int | float]:
        load = round(os.getloadavg()[0], 2)
        kept = f"best of up to {self.sizes.rounds} interleaved rounds"
        return {"mode": mode, **self.server.conditions(), "cores": os.cpu_count() or 1, "load": load, "figures": kept}
