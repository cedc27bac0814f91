"""How much each row measures: small enough for five minutes, or large enough to argue with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    rounds: int = 5
    """Interleaved rounds of us and the peers; of each the best counts."""
    drain_jobs: int = 100_000
    """Jobs of a round, ours and graphile-worker's. Below 50,000 a peer's start-up would count against it."""
    pgqueuer_jobs: int = 50_000
    procrastinate_jobs: int = 5_000
    pings: int = 500
    """Jobs submitted one by one to an idle worker."""
    backlog_jobs: int = 1_000_000
    snapshot_jobs: int = 200_000
    snapshot_rounds: int = 2
    claims: int = 200
    """Claims timed for each size of backlog and each number of types."""
    idle_seconds: float = 30.0
    thread_jobs: int = 10_000
    process_jobs: int = 5_000
    steps: int = 1_000
    children: int = 10_000
    ordered_jobs: int = 40_000
    pairs: int = 9
    """Pairs of a plain and an ordered run; the median pair counts."""
    wrk_seconds: float = 5.0
    wrk_rounds: int = 5
    """Rounds of each HTTP route, in turn; the median counts."""
    streams: int = 2_000
    budget_seconds: float = 3600.0
    """After this long, further rounds of a row are skipped. Each row is measured at least once."""


FULL = Sizes()
QUICK = Sizes(
    rounds=3,
    drain_jobs=50_000,
    pgqueuer_jobs=20_000,
    procrastinate_jobs=1_500,
    pings=150,
    snapshot_rounds=1,
    claims=60,
    idle_seconds=20.0,
    thread_jobs=3_000,
    process_jobs=1_500,
    steps=300,
    ordered_jobs=20_000,
    pairs=5,
    wrk_seconds=2.0,
    wrk_rounds=3,
    budget_seconds=150.0,
)
