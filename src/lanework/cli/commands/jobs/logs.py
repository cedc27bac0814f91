"""`lanework jobs logs ID [--follow]`: what a job printed and logged, in order, over all its attempts."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from lanework.cli.options import positive
from lanework.cli.output import add_output, show, write
from lanework.cli.session import application
from lanework.cli.text import paint, safe
from lanework.client import Lanework
from lanework.reports import LogEntry

PAGE = 1000
PAUSE = 0.5
COLOURS = {"stderr": "yellow", "warning": "yellow", "error": "red", "critical": "red", "debug": "dim"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", type=positive)
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job has ended")
    parser.add_argument("--attempt", type=positive, metavar="N", help="only this attempt")
    add_output(parser, ids=False)


def run(options: argparse.Namespace) -> int:
    form = "jsonl" if options.output == "json" and options.follow else options.output
    with application(options) as app:
        app.get(options.id)
        found = _entries(app, options.id, options.follow)
        chosen = (one for one in found if options.attempt in (None, one.attempt))
        if form == "json":
            show(form, list(chosen), [])
            return 0
        for entry in chosen:
            _print(form, entry)
    return 0


def _entries(app: Lanework, job_id: int, follow: bool) -> Iterator[LogEntry]:
    after = 0
    while True:
        ended = not follow or app.get(job_id).finished  # asked before reading: nothing is written after the end
        page = app.logs(job_id, after=after, limit=PAGE)
        yield from page
        after = page[-1].id if page else after
        if len(page) < PAGE:
            sys.stdout.flush()
            if ended:
                return
            time.sleep(PAUSE)


def _print(form: str, entry: LogEntry) -> None:
    if form == "jsonl":
        show(form, [entry], [])
        return
    clock = entry.at.astimezone().strftime("%H:%M:%S")
    for line in entry.text.rstrip("\n").split("\n"):
        head = paint(f"{clock} {entry.attempt} {safe(entry.stream):<7}", "dim")
        write(f"{head} {paint(safe(line, keep=chr(9)), COLOURS.get(entry.stream, ''))}")
