"""`lanework metrics`: what was done, how fast, and how long it took, per lane and type."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from datetime import timedelta

from lanework.cli.commands.jobs.columns import moment as clock
from lanework.cli.options import moment, names, seconds
from lanework.cli.output import Column, add_output, show
from lanework.cli.session import application
from lanework.metrics import Metric, Times

AT: Column[Metric] = Column("FROM", lambda it: clock(it.at))
COLUMNS: list[Column[Metric]] = [
    Column("LANE", lambda it: it.lane, flexible=True),
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("SUBMITTED", lambda it: it.submitted, right=True),
    Column("STARTED", lambda it: it.started, right=True),
    Column("COMPLETED", lambda it: it.completed, right=True),
    Column("PER S", lambda it: f"{it.rate('completed'):.3g}", right=True),
    Column("FAILED", lambda it: it.failed, right=True, colour=lambda it: "red" if it.failed else ""),
    Column("RETRIED", lambda it: it.retried, right=True),
    Column("CANCELLED", lambda it: it.cancelled, right=True),
    Column("WAIT P50", lambda it: took(it.wait.p50), right=True),
    Column("P95", lambda it: took(it.wait.p95), right=True),
    Column("RUN P50", lambda it: took(it.run.p50), right=True),
    Column("P95", lambda it: took(it.run.p95), right=True),
    Column("P99", lambda it: took(it.run.p99), right=True),
]
SPEND: Column[Metric] = Column("SPEND", lambda it: f"{it.spend:.4g}", right=True)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--since", type=moment, default=timedelta(hours=1), metavar="TIME", help="a time (ISO), or how long ago (default: 1h)"
    )
    parser.add_argument("--until", type=moment, metavar="TIME", help="(default: now)")
    parser.add_argument("--step", type=seconds, metavar="TIME", help="a row per 1m, 10m, 1h, … instead of one for all")
    parser.add_argument("--lane", type=names, metavar="A,B")
    parser.add_argument("--type", type=names, metavar="A,B", help="job types")
    add_output(parser, ids=False)


def run(options: argparse.Namespace) -> int:
    with application(options) as app:
        found = app.metrics(since=options.since, until=options.until, lane=options.lane, type=options.type, step=options.step)
    columns = [*([AT] if options.step else []), *COLUMNS, *([SPEND] if any(one.spend for one in found) else [])]
    show(options.output, found, columns, record=_record, none="nothing happened in that time")
    return 0


def took(value: float | None) -> str:
    if value is None:
        return ""
    if value < 1:
        return f"{value * 1000:.3g}ms"
    if value < 120:
        return f"{value:.3g}s"
    return f"{value / 60:.3g}m" if value < 7200 else f"{value / 3600:.3g}h"


def _record(one: Metric) -> dict[str, object]:
    times = {name: _times(value) for name, value in (("wait", one.wait), ("run", one.run))}
    return {**asdict(one), **times}


def _times(times: Times) -> dict[str, object]:
    return {name: getattr(times, name) for name in ("count", "mean", "p50", "p95", "p99", "histogram")}
