"""Who runs in the race, how many jobs each, how often."""

from __future__ import annotations

from lanework.bench import ours, peer
from lanework.bench.race import Contestant
from lanework.bench.sizes import Sizes


def contestants(sizes: Sizes, *, peers: bool, pickup: bool) -> list[Contestant]:
    """Ourselves first, then the peers. The slow ones run fewer jobs, less often: they are nobody's yardstick."""
    jobs, rounds, pings = sizes.drain_jobs, sizes.rounds, sizes.pings if pickup else 0
    us = Contestant("lanework", "lanework", ours.run, jobs, rounds, pings)
    return [us, *_peers(sizes, jobs, rounds, pings)] if peers else [us]


def _peers(sizes: Sizes, jobs: int, rounds: int, pings: int) -> list[Contestant]:
    return [
        Contestant("graphile", "graphile-worker", peer.graphile, jobs, rounds, pings),
        Contestant("graphile_analyzed", "analyzed graphile-worker", peer.graphile_analyzed, jobs, rounds, 0),
        Contestant("pgqueuer", "pgqueuer", peer.pgqueuer, sizes.pgqueuer_jobs, 2, pings),
        Contestant("procrastinate", "procrastinate", peer.procrastinate, sizes.procrastinate_jobs, 1, pings),
    ]
