"""Drain, bulk submit and pickup, with the peers beside them: one race gives all three."""

from __future__ import annotations

from lanework.bench import peer
from lanework.bench.context import Bench
from lanework.bench.ours import run as lanework_run
from lanework.bench.race import Contestant, race
from lanework.bench.report import Limit, Line, Section, ratio

DRAIN_LIMIT, SUBMIT_LIMIT = Limit("≥", 1.5), Limit("≥", 3)
P50_LIMIT, P99_LIMIT = Limit("≤", 3), Limit("≤", 15)


def measure(bench: Bench) -> list[Section]:
    us, *peers = contestants = _contestants(bench)
    race(bench.server, contestants, bench.late)
    return [_drain(us, peers, bench.sizes.drain_jobs), _submit(us, peers), _pickup(us, peers)]


def _contestants(bench: Bench) -> list[Contestant]:
    sizes = bench.sizes
    us = Contestant("lanework", "lanework", lanework_run, sizes.drain_jobs, sizes.rounds, sizes.pings)
    if not bench.peers:
        return [us]
    return [
        us,
        Contestant("graphile", "graphile-worker", peer.graphile, sizes.drain_jobs, sizes.rounds, sizes.pings),
        Contestant("graphile_analyzed", "… after analyze", peer.graphile_analyzed, sizes.drain_jobs, sizes.rounds, 0),
        Contestant("pgqueuer", "pgqueuer", peer.pgqueuer, sizes.pgqueuer_jobs, 2, sizes.pings),
        Contestant("procrastinate", "procrastinate", peer.procrastinate, sizes.procrastinate_jobs, 1, sizes.pings),
    ]


def _drain(us: Contestant, peers: list[Contestant], jobs: int) -> Section:
    limits = {"graphile": DRAIN_LIMIT}
    title = f"Drain of no-op async jobs by one worker process ({jobs:,} jobs; × = lanework ÷ peer)"
    return Section(title, [_ours(us, "drain_per_s"), *(_line(us, p, "drain_per_s", "drain", limits) for p in peers)])


def _submit(us: Contestant, peers: list[Contestant]) -> Section:
    rated = [peer for peer in peers if peer.key != "graphile_analyzed"]
    lines = [_ours(us, "enqueue_per_s", "submit_per_s"), *(_line(us, p, "enqueue_per_s", "submit", {}) for p in rated)]
    if best := max((p.best("enqueue_per_s") or 0 for p in rated), default=0):
        ours = us.best("enqueue_per_s")
        against = ratio(ours, best)
        key = "best_peer_submit_per_s"
        lines.append(Line("the best peer", key, best, "/s", against, "submit_ratio_best", SUBMIT_LIMIT))
    return Section("Bulk submit (× = lanework ÷ peer)", lines)


def _pickup(us: Contestant, peers: list[Contestant]) -> Section:
    limits = {"pickup_p50_ms": P50_LIMIT, "pickup_p99_ms": P99_LIMIT}
    lines = []
    for one in [us, *(p for p in peers if p.pings)]:
        for figure, limit in limits.items():
            label, key = f"{one.name} {figure[7:10]}", _key(one, figure)
            judge = limit if one is us else None
            lines.append(Line(label, key, one.best(figure), "ms", limit=judge, reason=one.reason))
    return Section("Pickup by an idle worker, from before submit to the handler's start in another process", lines)


def _ours(us: Contestant, figure: str, key: str | None = None) -> Line:
    return Line(us.name, key or figure, us.best(figure), "/s", reason=us.reason)


def _line(us: Contestant, them: Contestant, figure: str, short: str, limits: dict[str, Limit]) -> Line:
    value = them.best(figure)
    against = ratio(us.best(figure), value)
    key = f"{them.key}_{short}_per_s"
    return Line(them.name, key, value, "/s", against, f"{short}_ratio_{them.key}", limits.get(them.key), them.reason)


def _key(contestant: Contestant, figure: str) -> str:
    return figure if contestant.key == "lanework" else f"{contestant.key}_{figure}"
