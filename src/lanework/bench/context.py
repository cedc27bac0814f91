"""What every row is given."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from lanework.bench.contestants import contestants
from lanework.bench.race import Contestant, race
from lanework.bench.server import Server
from lanework.bench.sizes import Sizes


@dataclass(slots=True)
class Bench:
    server: Server
    sizes: Sizes
    rows: list[str]
    peers: bool = True
    started: float = field(default_factory=time.monotonic)
    _raced: list[Contestant] = field(default_factory=list)

    def raced(self) -> list[Contestant]:
        """Ourselves and the peers with their figures. One race serves drain, submit and pickup."""
        if not self._raced:
            self._raced = contestants(self.sizes, peers=self.peers, pickup="pickup" in self.rows)
            race(self.server, self._raced, self.late)
        return self._raced

    def late(self) -> bool:
        """True when the run has used its time: rows are then measured once instead of several times."""
        return time.monotonic() - self.started > self.sizes.budget_seconds

    def conditions(self, mode: str) -> dict[str, str | int | float]:
        load = round(os.getloadavg()[0], 2)
        kept = f"the best of up to {self.sizes.rounds} interleaved rounds"
        return {"mode": mode, **self.server.conditions(), "cores": os.cpu_count() or 1, "load": load, "figures": kept}
