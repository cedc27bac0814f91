"""Bulk submit, against each peer's and the best peer's."""

from __future__ import annotations

from lanework.bench.context import Bench
from lanework.bench.race import Contestant
from lanework.bench.report import Limit, Line, Section, ratio

LIMIT = Limit("≥", 3)


def measure(bench: Bench) -> list[Section]:
    us, *others = bench.raced()
    peers = [other for other in others if other.key != "graphile_analyzed"]
    ours = Line(us.name, "submit_per_s", us.best("enqueue_per_s"), "/s", reason=us.reason)
    lines = [ours, *(_line(us, peer) for peer in peers), _best(us, peers)]
    return [Section("Bulk submit (× = lanework ÷ peer)", lines)]


def _line(us: Contestant, peer: Contestant) -> Line:
    theirs = peer.best("enqueue_per_s")
    times = ratio(us.best("enqueue_per_s"), theirs)
    key = f"{peer.key}_submit_per_s"
    return Line(peer.name, key, theirs, "/s", times, f"submit_ratio_{peer.key}", reason=peer.reason)


def _best(us: Contestant, peers: list[Contestant]) -> Line:
    best = max((peer.best("enqueue_per_s") or 0 for peer in peers), default=0) or None
    times = ratio(us.best("enqueue_per_s"), best)
    reason = None if best else "no peer was measured"
    return Line("the best peer", "best_peer_submit_per_s", best, "/s", times, "submit_ratio_best", LIMIT, reason)
