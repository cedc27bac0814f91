"""The command: choose rows, measure, print. stdout has the data, stderr the talk."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from lanework.bench import server, table
from lanework.bench.context import Bench
from lanework.bench.home import say
from lanework.bench.report import Report, Section
from lanework.bench.sizes import FULL, QUICK

# A row's name, and what its first figure is called when it cannot be measured.
ROWS = {
    "drain": "drain_ratio_graphile",
    "submit": "submit_ratio_best",
    "pickup": "pickup_p50_ms",
    "backlog": "backlog_ratio",
    "snapshot": "snapshot_ratio",
    "idle": "idle_queries_per_s",
    "executors": "thread_per_s",
    "types": "claim_1_types_ms",
    "inside": "step_p50_ms",
    "fair": "fair_ratio",
    "permits": "permit_p50_ms",
    "http": "get_p95_ms",
    "streams": "stream_kb",
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave through the doors: the private server stops with us
    with _server(options.dsn) as found:
        bench = Bench(found, QUICK if options.quick else FULL, options.only, options.peers)
        conditions = bench.conditions("quick" if options.quick else "full")
        sections = [section for name in options.only for section in _row(bench, name)]
    report = Report(conditions, sections)
    text = json.dumps(report.as_json(), indent=2) + "\n" if options.output == "json" else table.render(report)
    sys.stdout.write(text)
    return 1 if report.failed else 0


def parser() -> argparse.ArgumentParser:
    new = argparse.ArgumentParser("lanework bench", description="Measure the engine, with its peers beside it.")
    new.add_argument("--quick", action="store_true", help="small sizes: the whole run takes less than five minutes")
    new.add_argument("-o", "--output", choices=("table", "json"), default="table", help="(default: table)")
    new.add_argument("--only", type=_rows, default=list(ROWS), metavar="ROWS", help=f"some of {','.join(ROWS)}")
    new.add_argument("--no-peers", dest="peers", action="store_false", help="measure lanework alone; install nothing")
    new.add_argument("--dsn", help="measure on this server, as a superuser, instead of a private embedded one")
    return new


def _rows(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(ROWS)}, got: {', '.join(unknown)}")
    return names


def _row(bench: Bench, name: str) -> list[Section]:
    """A row that fails is shown with its reason; the others are measured all the same."""
    say(f"measuring {name}")
    try:
        measure: Callable[[Bench], list[Section]] = import_module(f"lanework.bench.rows.{name}").measure
        return measure(bench)
    except Exception as error:
        say(f"{name}: {type(error).__name__}: {error}")
        return [Section.failed(name, ROWS[name], f"{type(error).__name__}: {error}")]


@contextmanager
def _server(dsn: str | None) -> Iterator[server.Server]:
    if dsn:
        yield server.Server(dsn)
    else:
        with server.private() as found:
            yield found
