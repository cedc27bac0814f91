"""How soon an idle worker starts a job that another process submits."""

from __future__ import annotations

from lanework.bench.context import Bench
from lanework.bench.race import Contestant
from lanework.bench.report import Limit, Line, Section

LIMITS = {"pickup_p50_ms": Limit("≤", 3), "pickup_p99_ms": Limit("≤", 15)}


def measure(bench: Bench) -> list[Section]:
    us, *others = bench.raced()
    ours = [_line(us, key, key, limit) for key, limit in LIMITS.items()]
    theirs = [_line(peer, key, f"{peer.key}_{key}") for peer in others if peer.pings for key in LIMITS]
    title = f"Pickup when idle: before submit to start in another process, {us.pings} jobs one by one"
    return [Section(title, ours + theirs)]


def _line(one: Contestant, figure: str, key: str, limit: Limit | None = None) -> Line:
    return Line(f"{one.name}, {figure.split('_')[1]}", key, one.best(figure), "ms", limit=limit, reason=one.reason)
