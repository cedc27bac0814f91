"""Operations: acts on all jobs that match a filter, carried out in small commits that whoever comes next goes on with."""

from __future__ import annotations

import asyncio
import builtins
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lanework._store import operations as store
from lanework._store.verb import Row, Verb
from lanework.errors import InvalidFilter, JobNotFinished, OperationNotFound

if TYPE_CHECKING:
    from lanework.client import Lanework

_LISTS = ("status", "type", "lane", "ids")
_TEXTS = ("owner", "tag", "error_class", "created_after", "created_before")
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Operation:
    """An act on many jobs.

    matched   jobs that matched when it began; 1,000,000 stands for that many or more
    done      jobs that it has changed so far; skipped: those that were beyond its reach when it came to them
    state     `running`, `done`, `stopped` by an operator, `failed`; `dry run`: nothing was done, and there is no id
    """

    id: int
    kind: str
    filter: Mapping[str, Any]
    args: Mapping[str, Any]
    by: str
    reason: str
    state: str
    matched: int
    done: int
    skipped: int
    error: str | None
    created_at: datetime
    ended_at: datetime | None


class Operations:
    """`app.operations`: each verb has an async twin with an `a` in front.

    Kinds: `cancel`, `priority` (args: priority). Filters, all of which must match: status, type, lane, ids (one or several), owner,
    tag, error_class, created_after, created_before.
    """

    def __init__(self, app: Lanework) -> None:
        self._app = app

    def start(
        self, kind: str, filter: Mapping[str, Any], *, args: Mapping[str, Any] | None = None, by: str = "", reason: str = ""
    ) -> Operation:
        """Begins, and does the first thousand. Workers carry on with the rest; so does `wait`."""
        started = self._app._run(store.start_operation(kind, job_filter(**filter), args or {}, by, reason))
        self._app._run(store.carry_operations(started))
        return self.get(started)

    async def astart(
        self, kind: str, filter: Mapping[str, Any], *, args: Mapping[str, Any] | None = None, by: str = "", reason: str = ""
    ) -> Operation:
        started = await self._app._arun(store.start_operation(kind, job_filter(**filter), args or {}, by, reason))
        await self._app._arun(store.carry_operations(started))
        return await self.aget(started)

    def count(self, kind: str, filter: Mapping[str, Any]) -> int:
        """How many jobs it would concern now; counts no further than 1,000,000. Nothing is done."""
        return self._app._run(store.count_matching(kind, job_filter(**filter)))

    async def acount(self, kind: str, filter: Mapping[str, Any]) -> int:
        return await self._app._arun(store.count_matching(kind, job_filter(**filter)))

    def get(self, id: int) -> Operation:
        return _one(id, self._app._run(store.list_operations(id=id)))

    async def aget(self, id: int) -> Operation:
        return _one(id, await self._app._arun(store.list_operations(id=id)))

    def list(
        self, *, state: str | None = None, by: str | None = None, before: int | None = None, limit: int = 100
    ) -> builtins.list[Operation]:
        """Newest first; the last id of a page is the `before` of the next."""
        return [_row(row) for row in self._app._run(_list(state, by, before, limit))]

    async def alist(
        self, *, state: str | None = None, by: str | None = None, before: int | None = None, limit: int = 100
    ) -> builtins.list[Operation]:
        return [_row(row) for row in await self._app._arun(_list(state, by, before, limit))]

    def stop(self, id: int, *, by: str = "") -> Operation:
        """Goes no further; what is done stays done."""
        self._app._run(store.stop_operation(id, by))
        return self.get(id)

    async def astop(self, id: int, *, by: str = "") -> Operation:
        await self._app._arun(store.stop_operation(id, by))
        return await self.aget(id)

    def wait(self, id: int, timeout: float | None = None) -> Operation:
        """Carries it on, beside the workers, until it has ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._app._run(store.carry_operations(id)):
            _check(id, deadline, timeout)
            time.sleep(PAUSE)
        return self.get(id)

    async def await_(self, id: int, timeout: float | None = None) -> Operation:
        deadline = None if timeout is None else time.monotonic() + timeout
        while await self._app._arun(store.carry_operations(id)):
            _check(id, deadline, timeout)
            await asyncio.sleep(PAUSE)
        return await self.aget(id)


def preview(kind: str, filter: Mapping[str, Any], matched: int, by: str, reason: str) -> Operation:
    """An act that is not begun: it has no number, and only `matched` says anything."""
    return Operation(0, kind, job_filter(**filter), {}, by, reason, "dry run", matched, 0, 0, None, datetime.now(UTC), None)


def job_filter(**given: Any) -> dict[str, Any]:
    """The filter as the database takes it: lists where there can be several, moments in ISO form. None is no condition."""
    found: dict[str, Any] = {}
    for field, value in given.items():
        if field not in (*_LISTS, *_TEXTS):
            raise InvalidFilter(f"{field}: there is no such filter; there are {', '.join((*_LISTS, *_TEXTS))}", field=field)
        if value is not None:
            found[field] = _plain(field, value)
    return found


def _plain(field: str, value: Any) -> Any:
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidFilter(f"{field}: expected a moment with a time zone, got {value!r}", field=field)
        return value.isoformat()
    if field in _TEXTS:
        return value
    return [value] if isinstance(value, (str, int)) else list(value)


def _list(state: str | None, by: str | None, before: int | None, limit: int) -> Verb[list[Row]]:
    if not 1 <= limit <= 1000:
        raise InvalidFilter(f"limit: expected 1 to 1000, got {limit!r}", field="limit")
    return store.list_operations(state=state, by=by, before=before, limit=limit)


def _row(row: Row) -> Operation:
    return Operation(row[0], row[1], json.loads(row[2]), json.loads(row[3]), *row[4:])


def _one(id: int, found: list[Row]) -> Operation:
    if not found:
        raise OperationNotFound(f"there is no operation {id}")
    return _row(found[0])


def _check(id: int, deadline: float | None, timeout: float | None) -> None:
    if deadline is not None and time.monotonic() >= deadline:
        raise JobNotFinished(f"operation {id} was not through within {timeout} s; workers carry it on")
