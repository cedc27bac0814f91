"""How groups, redrives, rules and notifiers are shown."""

from __future__ import annotations

from lanework.cli.commands.jobs.columns import moment
from lanework.cli.output import Column
from lanework.dead import DeadGroup, ErrorRule, Redrive
from lanework.notifiers import NotificationInfo, NotifierInfo

_STATES = {"done": "green", "sent": "green", "failed": "red", "stopped": "yellow", "canary": "cyan", "flowing": "cyan"}

GROUPS: list[Column[DeadGroup]] = [
    Column("GROUP", lambda it: it.fingerprint),
    Column("JOBS", lambda it: f"{it.count:,}", right=True),
    Column("TYPE", lambda it: it.type, flexible=True),
    Column("CLASS", lambda it: it.error_class),
    Column("RULE", lambda it: it.rule),
    Column("FIRST SEEN", lambda it: moment(it.first_seen)),
    Column("LAST SEEN", lambda it: moment(it.last_seen)),
    Column("SAMPLE", lambda it: it.sample, right=True),
    Column("MESSAGE", lambda it: it.message, flexible=True),
]
REDRIVES: list[Column[Redrive]] = [
    Column("REDRIVE", lambda it: it.id, right=True),
    Column("STATE", lambda it: it.state, colour=lambda it: _STATES.get(it.state, "")),
    Column("MOVED", lambda it: f"{it.moved:,} of {it.matched:,}", right=True),
    Column("COMPLETED", lambda it: it.completed, right=True),
    Column("FAILED", lambda it: it.failed, right=True),
    Column("PER MINUTE", lambda it: it.per_minute, right=True),
    Column("CANARY", lambda it: it.canary, right=True),
    Column("STARTED", lambda it: moment(it.started_at)),
    Column("BY", lambda it: it.by, flexible=True),
    Column("WHICH", lambda it: ", ".join(f"{name} {_short(value)}" for name, value in it.filter.items()), flexible=True),
    Column("NOTE", lambda it: it.note, flexible=True),
]
RULES: list[Column[ErrorRule]] = [
    Column("RULE", lambda it: it.id, right=True),
    Column("CLASS", lambda it: it.error_class),
    Column("TYPE", lambda it: it.type or "all", flexible=True),
    Column("PATTERN", lambda it: it.pattern, flexible=True),
    Column("BY", lambda it: it.by, flexible=True),
    Column("SINCE", lambda it: moment(it.at)),
]
NOTIFIERS: list[Column[NotifierInfo]] = [
    Column("NAME", lambda it: it.name, flexible=True),
    Column("KIND", lambda it: it.kind),
    Column("STATE", lambda it: "on" if it.enabled else "off", colour=lambda it: "" if it.enabled else "yellow"),
    Column("SIGNED", lambda it: "yes" if it.signed else "no" if it.kind == "webhook" else ""),
    Column("EVERY", lambda it: f"{it.every} s", right=True),
    Column("WAITING", lambda it: it.waiting, right=True),
    Column("WORKER", lambda it: "yes" if it.served else "none", colour=lambda it: "" if it.served else "red"),
    Column("SET BY", lambda it: it.set_by, flexible=True),
    Column("ADDRESS", lambda it: it.url, flexible=True),
]
MESSAGES: list[Column[NotificationInfo]] = [
    Column("MESSAGE", lambda it: it.id),
    Column("NOTIFIER", lambda it: it.notifier, flexible=True),
    Column("STATE", lambda it: it.state, colour=lambda it: _STATES.get(it.state, "")),
    Column("JOBS", lambda it: it.count, right=True),
    Column("TRIES", lambda it: it.tries, right=True),
    Column("MADE", lambda it: moment(it.created_at)),
    Column("ERROR", lambda it: it.last_error, flexible=True),
]


def _short(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value[:5])) + (f" … {len(value)}" if len(value) > 5 else "")
    return str(value)
