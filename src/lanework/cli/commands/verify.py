"""`lanework verify`: looks for rows that break an invariant. Finds nothing, as long as the engine keeps its promises."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import psycopg

from lanework import migrate
from lanework._store import status
from lanework._store.status import Violation
from lanework._store.verb import run as ask
from lanework._words import count
from lanework.cli.output import as_json, plain, say, write
from lanework.cli.session import connection
from lanework.cli.text import paint, safe
from lanework.errors import SchemaError

#: Check → what holds if it finds nothing, and whose ids it answers.
CHECKS = {
    "one_table": ("every job is in exactly one table", "job"),
    "places": ("every job is in the table of its state", "job"),
    "running": ("every running job has a claim and a living worker", "job"),
    "waiting": ("no waiting job has a claim, or no tries left", "job"),
    "approvals": ("every approval is for its job as it is, and every job that waits for one is known", "job"),
    "attempts": ("no history is ahead of its job", "job"),
    "types": ("every job has a type", "job"),
    "slots": ("every worker's slots cover what it runs", "worker"),
    "claims": ("no worker that has ended holds a claim", "worker"),
}
MOST = 20
#: A row may be between two states while a worker is being buried: only what is still wrong after this long counts.
SECOND_LOOK = 2.0


@dataclass(frozen=True)
class Verdict:
    check: str
    claim: str
    noun: str
    violations: list[Violation]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="(default: table)")


def run(options: argparse.Namespace) -> int:
    with connection(options) as conn:
        if pending := migrate.plan(conn):
            raise SchemaError(f"{count(len(pending), 'migration')} not applied yet; run `lanework migrate` first")
        verdicts = _judge(conn)
        counts = ask(conn, status.counts())
    broken = [one for one in verdicts if one.violations]
    _show(options.output, verdicts, counts)
    say(f"{count(len(verdicts), 'invariant')} checked, {len(broken) or 'none'} broken")
    return 1 if broken else 0


def _judge(conn: psycopg.Connection[Any]) -> list[Verdict]:
    first = _look(conn, list(CHECKS))
    if suspicious := [check for check, found in first.items() if found]:
        time.sleep(SECOND_LOOK)
        again = _look(conn, suspicious)
        first |= {check: [one for one in first[check] if one in again[check]] for check in suspicious}
    return [Verdict(check, *CHECKS[check], found) for check, found in first.items()]


def _look(conn: psycopg.Connection[Any], checks: list[str]) -> dict[str, list[Violation]]:
    return {check: ask(conn, status.violations(check, MOST)) for check in checks}


def _show(form: str, verdicts: list[Verdict], counts: Any) -> None:
    live, running, finished, failed, workers = counts
    if form == "json":
        seen = {"live": live, "running": running, "finished": finished, "failed": failed, "workers": workers}
        write(as_json({"ok": not any(one.violations for one in verdicts), "seen": seen, "checks": plain(verdicts)}, indent=2))
        return
    write(f"{live:,} live jobs ({running:,} running), {finished:,} finished, {failed:,} failed, {workers:,} workers")
    for verdict in verdicts:
        write(f"{paint('BROKEN', 'red') if verdict.violations else paint('ok', 'green') + '    '}  {verdict.claim}")
        write(*(f"          {verdict.noun} {one.id} {safe(one.what)}" for one in verdict.violations))
        if len(verdict.violations) == MOST:
            write("          … and perhaps more")
