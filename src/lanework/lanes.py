"""Lanes: rows that operators create, change, drain, resume and remove while everything runs."""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lanework._store import lanes as store
from lanework._store.explanations import explain_lane
from lanework._store.verb import Row, Verb
from lanework.errors import ConfigError, InvalidLane, LaneNotFound
from lanework.explanations import Brake

if TYPE_CHECKING:
    from lanework.client import Lanework

#: Field → lowest, highest, may be null.
BOUNDS: dict[str, tuple[int, int, bool]] = {
    "max_slots": (0, 10_000, True),
    "worker_slots": (0, 10_000, True),
    "poll_interval_ms": (50, 120_000, False),
    "stale_timeout_minutes": (1, 1440, False),
}
FLAGS = ("enabled", "fair")
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")
_ENVIRONMENT = re.compile(
    r"LANEWORK_LANE_([A-Z0-9_]+?)_(MAX_SLOTS|SLOTS|WORKER_SLOTS|POLL_INTERVAL_MS|STALE_TIMEOUT_MINUTES|ENABLED|FAIR)"
)


@dataclass(frozen=True, slots=True)
class LaneInfo:
    """A lane's row.

    max_slots               jobs at once in the whole cluster; None: no such limit; 0: none start
    worker_slots            jobs at once in one process; None: no limit of its own
    poll_interval_ms        how long a waiting job may go unnoticed if its hint is lost
    stale_timeout_minutes   a job that reports progress and reports none for so long is stopped
    fair                    its owners take turns, whatever one of them has queued
    held_by                 what else keeps its jobs from starting: freezes, and a drain of everything
    """

    name: str
    job_types: tuple[str, ...]
    max_slots: int | None
    worker_slots: int | None
    poll_interval_ms: int
    stale_timeout_minutes: int
    enabled: bool
    updated_at: datetime
    set_by: str
    running: int
    held_by: tuple[str, ...] = ()
    fair: bool = False


@dataclass(frozen=True, slots=True)
class LaneChange:
    """What a change did: the fields that differ, old and new."""

    name: str
    changed: Mapping[str, tuple[Any, Any]]


class Lanes:
    """`app.lanes`: each verb has an async twin with an `a` in front."""

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def list(self) -> builtins.list[LaneInfo]:
        return self._app._run(_list())

    async def alist(self) -> builtins.list[LaneInfo]:
        return await self._app._arun(_list())

    def get(self, name: str) -> LaneInfo:
        return _one(name, self._app._run(_list(name)))

    async def aget(self, name: str) -> LaneInfo:
        return _one(name, await self._app._arun(_list(name)))

    def create(self, name: str, *, by: str = "operator", **values: Any) -> LaneChange:
        return _change(name, self._app._run(_set(name, values, by, create=True)))

    async def acreate(self, name: str, *, by: str = "operator", **values: Any) -> LaneChange:
        return _change(name, await self._app._arun(_set(name, values, by, create=True)))

    def set(self, name: str, *, by: str = "operator", **values: Any) -> LaneChange:
        """Changes what is given: max_slots, worker_slots, poll_interval_ms, stale_timeout_minutes, enabled, fair,
        job_types."""
        return _change(name, self._app._run(_set(name, values, by, create=False)))

    async def aset(self, name: str, *, by: str = "operator", **values: Any) -> LaneChange:
        return _change(name, await self._app._arun(_set(name, values, by, create=False)))

    def explain(self, name: str) -> Brake:
        """The one reason why it does not start more than it does."""
        return self._app._run(explain_lane(name))

    async def aexplain(self, name: str) -> Brake:
        return await self._app._arun(explain_lane(name))

    def drain(self, name: str, *, by: str = "operator") -> LaneChange:
        """Nothing more starts; running jobs finish."""
        return self.set(name, by=by, enabled=False)

    async def adrain(self, name: str, *, by: str = "operator") -> LaneChange:
        return await self.aset(name, by=by, enabled=False)

    def resume(self, name: str, *, by: str = "operator") -> LaneChange:
        return self.set(name, by=by, enabled=True)

    async def aresume(self, name: str, *, by: str = "operator") -> LaneChange:
        return await self.aset(name, by=by, enabled=True)

    def remove(self, name: str, *, move_to: str | None = None, by: str = "operator") -> None:
        """A lane that has job types asks for the lane that takes them."""
        self._app._run(store.remove_lane(name, move_to, by=by))

    async def aremove(self, name: str, *, move_to: str | None = None, by: str = "operator") -> None:
        await self._app._arun(store.remove_lane(name, move_to, by=by))


def _row(row: Row) -> LaneInfo:
    fields = [row[0], tuple(row[1]), *row[2:10], tuple(row[10]), row[11]]
    return LaneInfo(*fields)


def _list(name: str | None = None) -> Verb[list[LaneInfo]]:
    return store.list_lanes(name, _row)


def _one(name: str, found: list[LaneInfo]) -> LaneInfo:
    if not found:
        raise LaneNotFound(f"there is no lane {name!r}", field="name")
    return found[0]


def _set(name: str, values: dict[str, Any], by: str, *, create: bool) -> Verb[tuple[Any, Any]]:
    check(name, values)
    return store.set_lane(name, values, by=by, create=create)


def _change(name: str, rows: tuple[Any, Any]) -> LaneChange:
    before, after = rows
    hidden = ("updated_at", "set_by", "name")
    fields = {key: ((before or {}).get(key), value) for key, value in after.items() if key not in hidden}
    return LaneChange(name, {key: pair for key, pair in fields.items() if pair[0] != pair[1]})


def check(name: str, values: Mapping[str, Any]) -> None:
    """Refuses what is out of bounds, naming the bound."""
    if not _NAME.fullmatch(name):
        raise InvalidLane(f"name: expected small letters, digits, '_', '.' or '-', at most 63 of them, got {name!r}", field="name")
    for field, value in values.items():
        if field in BOUNDS:
            _check_number(field, value, *BOUNDS[field])
        elif field in FLAGS:
            if not isinstance(value, bool):
                raise InvalidLane(f"{field}: expected true or false, got {value!r}", field=field)
        elif field == "job_types":
            if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
                raise InvalidLane(f"job_types: expected a list of names, got {value!r}", field=field)
        else:
            known = ", ".join((*BOUNDS, *FLAGS, "job_types"))
            raise InvalidLane(f"{field}: a lane has no such setting; it has {known}", field=field)


def _check_number(field: str, value: Any, low: int, high: int, may_be_null: bool) -> None:
    if value is None and may_be_null:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidLane(f"{field}: expected {low} to {high}{' or none' if may_be_null else ''}, got {value!r}", field=field)


def from_environment(environ: Mapping[str, str] | None = None) -> dict[str, dict[str, Any]]:
    """`LANEWORK_LANE_<NAME>_SLOTS` and so on: first values for lanes that have no row yet."""
    found: dict[str, dict[str, Any]] = {}
    for key, text in (os.environ if environ is None else environ).items():
        if not (match := _ENVIRONMENT.fullmatch(key)):
            continue
        name = match[1].lower()
        field = {"SLOTS": "max_slots"}.get(match[2], match[2].lower())
        values = found.setdefault(name, {"set_by": "environment"})
        values[field] = _parse(key, text, field)
        try:
            check(name, {field: values[field]})
        except InvalidLane as error:
            raise ConfigError(f"{key}: {error}") from None
    return found


def _parse(key: str, text: str, field: str) -> Any:
    word = text.strip().lower()
    if field in FLAGS:
        if word not in ("on", "off", "true", "false", "1", "0"):
            raise ConfigError(f"{key}: expected on or off, got {text!r}")
        return word in ("on", "true", "1")
    if word in ("", "none", "null"):
        return None
    try:
        return int(word)
    except ValueError:
        raise ConfigError(f"{key}: expected a whole number or none, got {text!r}") from None
