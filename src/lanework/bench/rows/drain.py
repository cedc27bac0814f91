"""Drain of no-op async jobs by one worker process, against each peer's."""

from __future__ import annotations

from lanework.bench.context import Bench
from lanework.bench.race import Contestant
from lanework.bench.report import Limit, Line, Section, ratio

LIMITS = {"graphile": Limit("≥", 1.5)}


def measure(bench: Bench) -> list[Section]:
    us, *peers = bench.raced()
    ours = Line(us.name, "drain_per_s", us.best("drain_per_s"), "/s", reason=us.reason)
    title = f"Drain of no-op async jobs, one worker process, {us.jobs:,} jobs (× = lanework ÷ peer)"
    return [Section(title, [ours, *(_line(us, peer) for peer in peers)])]


def _line(us: Contestant, peer: Contestant) -> Line:
    theirs = peer.best("drain_per_s")
    times = ratio(us.best("drain_per_s"), theirs)
    key, limit = f"{peer.key}_drain_per_s", LIMITS.get(peer.key)
    return Line(peer.name, key, theirs, "/s", times, f"drain_ratio_{peer.key}", limit, peer.reason)
