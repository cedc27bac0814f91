"""The command: choose rows, measure, print. stdout has the data, stderr the talk."""

from __future__ import annotations

import argparse
import dataclasses
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from kg.bench.context import FULL, QUICK, Bench
from lanework.bench import server, table
from lanework.bench.home import say
from lanework.bench.report import HEADLINES, Report, Section

#: A row's name, and what its first figure is called when it cannot be measured.
ROWS = {"graph": "search_semantic_p50_ms", "writes": "writes_large_per_s", "provider": "provider_busy", "local": "local_of_floor"}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave through the doors: the private server stops with us
    sizes = QUICK if options.quick else FULL
    if options.concepts:
        sizes = dataclasses.replace(sizes, concepts=options.concepts, relations=5 * options.concepts)
    with _server(options.dsn) as found:
        bench = Bench(found, sizes, peers=not options.no_peers)
        conditions = bench.conditions("quick" if options.quick else "full")
        report = Report(conditions, [section for name in options.only for section in _row(bench, name)])
    sys.stdout.write(json.dumps(_plain(report), indent=2) + "\n" if options.output == "json" else table.render(report))
    return 1 if report.failed else 0


def parser() -> argparse.ArgumentParser:
    new = argparse.ArgumentParser("kg bench", description="Measure the platform.")
    new.add_argument("--quick", action="store_true", help="fewer repetitions; the same sizes, but for writes")
    new.add_argument("-o", "--output", choices=("table", "json"), default="table", help="(default: table)")
    new.add_argument("--only", type=_rows, default=list(ROWS), metavar="ROWS", help=f"some of {','.join(ROWS)}")
    new.add_argument("--concepts", type=_positive, metavar="N", help="a graph of this size, with five times as many relations")
    new.add_argument("--no-peers", action="store_true", help="without what is installed for comparison")
    new.add_argument("--dsn", help="measure on this server, as a superuser, instead of a private embedded one")
    return new


def _positive(text: str) -> int:
    if not text.isdecimal() or not 1000 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"expected 1000 to 10000000, got {text!r}")
    return int(text)


def _rows(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in ROWS]:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(ROWS)}, got: {', '.join(unknown)}")
    return names


def _row(bench: Bench, name: str) -> list[Section]:
    """A row that fails is shown with its reason; the others are measured all the same."""
    say(f"measuring {name}")
    try:
        measure: Callable[[Bench], list[Section]] = import_module(f"kg.bench.rows.{name}").measure
        return measure(bench)
    except Exception as error:
        say(f"{name}: {type(error).__name__}: {error}")
        return [Section.failed(name, ROWS[name], f"{type(error).__name__}: {error}")]


def _plain(report: Report) -> dict[str, object]:
    ours = {key for line in report.lines for key in line.figures()}
    return {key: value for key, value in report.as_json().items() if key in ours or key not in HEADLINES}


@contextmanager
def _server(dsn: str | None) -> Iterator[server.Server]:
    if dsn:
        yield server.Server(dsn)
    else:
        with server.private() as found:
            yield found
