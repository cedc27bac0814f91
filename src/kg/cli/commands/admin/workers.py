"""`kg admin workers`: slots, lanes and active jobs. `kg admin workers lanes`: each lane's settings and use."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kg.cli.remote import ask
from lanework.cli.output import Column, add_output, show, table, write

Record = Mapping[str, Any]


def _limit(value: int | None) -> str:
    return "no limit" if value is None else str(value)


def _ago(text: str | None) -> str:
    if text is None:
        return ""
    seconds = max((datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds(), 0)
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _waiting(lane: Record) -> int:
    return sum(one["waiting"] for one in lane["queue"])


SUMMARY: list[Column[Record]] = [
    Column("LANE", lambda it: it["name"], flexible=True),
    Column("STATE", lambda it: "active" if it["enabled"] else "drained", colour=lambda it: "" if it["enabled"] else "yellow"),
    Column("USED", lambda it: it["used"], right=True),
    Column("SLOTS", lambda it: _limit(it["max_slots"]), right=True),
    Column("WAITING", _waiting, right=True),
    Column("OLDEST", lambda it: _ago(min((one["oldest"] for one in it["queue"] if one["oldest"]), default=None)), right=True),
]
ACTIVE: list[Column[Record]] = [
    Column("JOB", lambda it: it["job_id"], right=True),
    Column("LANE", lambda it: it["lane"], flexible=True),
    Column("TYPE", lambda it: it["type"], flexible=True),
    Column("ATTEMPT", lambda it: it["attempt"], right=True),
    Column("CLAIMED BY", lambda it: it["claimed_by"], flexible=True),
    Column("SINCE", lambda it: _ago(it["claimed_at"]), right=True),
    Column("PROGRESS", lambda it: "" if it["progress"] is None else f"{it['progress']:.0%}", right=True),
    Column("", lambda it: "cancelling" if it["cancel_requested"] else it["message"], flexible=True),
]
LANES: list[Column[Record]] = [
    Column("LANE", lambda it: it["name"], flexible=True),
    Column("STATE", lambda it: "active" if it["enabled"] else "drained"),
    Column("RUNNING", lambda it: it["running"], right=True),
    Column("SLOTS", lambda it: _limit(it["max_slots"]), right=True),
    Column("PER WORKER", lambda it: _limit(it["worker_slots"]), right=True),
    Column("POLL", lambda it: f"{it['poll_interval_ms']} ms", right=True),
    Column("STALE", lambda it: f"{it['stale_timeout_minutes']} min", right=True),
    Column("JOB TYPES", lambda it: ", ".join(it["job_types"]), flexible=True),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=["lanes"], help="each lane's settings and use")
    add_output(parser)


def run(options: argparse.Namespace) -> int:
    if options.what == "lanes":
        show(options.output, ask("GET", "/admin/workers/lanes"), LANES, id_of=lambda it: it["name"])
        return 0
    found = ask("GET", "/admin/workers/status")
    active = [{"lane": lane["name"], **slot} for lane in found["lanes"] for slot in lane["slots"]]
    if options.output == "table":
        write(*_page(found, active))
    elif options.output == "ids":
        write(*(str(one["job_id"]) for one in active))
    else:
        show(options.output, [found], SUMMARY)
    return 0


def _page(found: Record, active: Sequence[Record]) -> list[str]:
    totals = found["totals"]
    of = "" if totals["slots"] is None else f" of {totals['slots']}"
    lines = [f"{totals['running']}{of} slots used, {totals['waiting']} waiting, {totals['lanes']} lanes", ""]
    lines += table(found["lanes"], SUMMARY)
    return [*lines, "", *(table(active, ACTIVE) if active else ["no job is running"])]
