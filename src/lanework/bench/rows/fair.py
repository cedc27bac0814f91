"""What fair sharing costs: the drain of a lane whose owners take turns, and a claim with one owner and with thousands."""

from __future__ import annotations

from lanework.bench.claimer import Claimer
from lanework.bench.context import Bench
from lanework.bench.ours import opened
from lanework.bench.report import Limit, Line, Section, ratio
from lanework.bench.worker import rate, wait_finished, worker

OWNERS, MANY, BATCH = 100, 5_000, 100


def measure(bench: Bench) -> list[Section]:
    return [_drain(bench), _claims(bench)]


def _drain(bench: Bench) -> Section:
    """In turn, the best of each: noise only ever slows."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    for number in range(bench.sizes.rounds):
        if number and bench.late():
            break
        for fair, measured in rates.items():
            measured.append(_rate(bench, fair))
    plain, turns = max(rates[False]), max(rates[True])
    title = f"Drain of {bench.sizes.ordered_jobs:,} no-op jobs of {OWNERS} owners, one worker process"
    return Section(title, [
        Line("a plain lane", "plain_owners_per_s", plain, "/s"),
        Line("a fair lane", "fair_per_s", turns, "/s", ratio(turns, plain), "fair_ratio", Limit("≥", 0.6)),
    ])  # fmt: skip


def _rate(bench: Bench, fair: bool) -> float:
    with bench.server.fresh() as dsn, opened(dsn) as app:
        app.app.lanes.set("bench", fair=fair)
        each = bench.sizes.ordered_jobs // OWNERS
        for owner in range(OWNERS):
            handles = app.noop.options(owner=f"owner {owner}").submit_many([(i,) for i in range(each)])
        with worker(dsn, "bench") as process:
            wait_finished(dsn, handles[-1].id, process)
        return rate(dsn, "noop")


def _claims(bench: Bench) -> Section:
    one, many = _claim_ms(bench, 1), _claim_ms(bench, MANY)
    return Section(f"A claim of {BATCH} jobs from a fair lane", [
        Line("1 owner", "fair_claim_1_ms", one, "ms"),
        Line(f"{MANY:,} owners", f"fair_claim_{MANY}_ms", many, "ms", ratio(many, one), "fair_owners_ratio", Limit("≤", 2)),
    ])  # fmt: skip


def _claim_ms(bench: Bench, owners: int) -> float:
    each = max((bench.sizes.claims + 2) * BATCH // owners + 1, 2)
    with bench.server.fresh() as dsn, opened(dsn) as app:
        app.app.lanes.set("bench", fair=True)
        for owner in range(owners):
            app.noop.options(owner=f"owner {owner}").submit_many([(i,) for i in range(each)])
        claimer = Claimer(dsn, "bench")
        try:
            return claimer.median_ms(bench.sizes.claims, BATCH)
        finally:
            claimer.close()
