"""Dead letters: `failed` jobs in groups of the same error, and what operators do about them."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from lanework._store import dead as store
from lanework._store.verb import Row, Verb
from lanework.errors import DeadLettersNotFound, InvalidDeadLetters
from lanework.job import JobInfo
from lanework.notifiers import NotificationInfo, Webhooks, notification_row

if TYPE_CHECKING:
    from lanework.client import Lanework

RuleClass = Literal["permanent", "transient", "throttled"]
RULE_CLASSES = ("permanent", "transient", "throttled")
#: What chooses dead letters beside `group`.
FILTERS = ("type", "lane", "owner", "tag", "error_class", "created_after", "created_before", "ids")
_LISTS = ("type", "lane", "ids")
MOST_LISTED = 1000


@dataclass(frozen=True, slots=True)
class DeadGroup:
    """Dead letters of one type with one error: its class and its message, without what differs from one to the next.

    fingerprint   the group's name, for every verb here
    message       the normalised message: numbers, ids, quoted values, paths, addresses and times are taken out
    sample        the newest job of the group, and `sample_error` what it said
    rule          what a rule says about this error, if there is one
    """

    fingerprint: str
    type: str
    error_class: str
    error_code: str | None
    message: str
    count: int
    first_seen: datetime
    last_seen: datetime
    sample: int
    sample_error: str
    rule: str | None


@dataclass(frozen=True, slots=True)
class Redrive:
    """The way back of many.

    state        `canary`: one is sent ahead; `flowing`; `done`; `stopped` by somebody; `failed`: the canary did not complete
    matched      how many were dead and matched when it started; moved: how many are back in the queue, or were
    completed    of those moved; failed: died again; waiting: queued or running. None in lists: ask for one redrive
    """

    id: int
    state: str
    filter: dict[str, Any]
    matched: int
    moved: int
    per_minute: int | None
    canary: int | None
    by: str
    note: str
    started_at: datetime
    ended_at: datetime | None
    completed: int | None = None
    failed: int | None = None
    waiting: int | None = None

    @property
    def ended(self) -> bool:
        return self.state not in ("canary", "flowing")


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """What an error means, said by an operator. `pattern` is a LIKE pattern for the normalised message; no type: all types."""

    id: int
    type: str | None
    pattern: str
    error_class: str
    by: str
    at: datetime


class Dead:
    """`app.dead`: each verb has an async twin with an `a` in front.

    Which dead letters: a `group` (its fingerprint, or the group itself), or filters: type, lane, owner, tag, error_class,
    created_after, created_before, ids.
    """

    def __init__(self, app: Lanework) -> None:
        self._app = app
        self.webhooks = Webhooks(app)

    # -- reading -------------------------------------------------------------------------------------------------------

    def groups(
        self, *, type: str | Sequence[str] | None = None, error_class: str | None = None, limit: int = 100
    ) -> builtins.list[DeadGroup]:
        """The groups, the one that was seen last first."""
        return self._app._run(_groups(type=type, error_class=error_class, limit=limit))

    async def agroups(
        self, *, type: str | Sequence[str] | None = None, error_class: str | None = None, limit: int = 100
    ) -> builtins.list[DeadGroup]:
        return await self._app._arun(_groups(type=type, error_class=error_class, limit=limit))

    def get(self, fingerprint: str) -> DeadGroup:
        return _one(fingerprint, self._app._run(_groups(fingerprint)))

    async def aget(self, fingerprint: str) -> DeadGroup:
        return _one(fingerprint, await self._app._arun(_groups(fingerprint)))

    def list(
        self, group: str | DeadGroup | None = None, *, after: int | None = None, limit: int = 100, **chosen: Any
    ) -> builtins.list[JobInfo]:
        """The jobs, in the order in which they died. Pages: pass the last id of a page as `after` to get the next one."""
        return self._app._run(_jobs(group, after, limit, chosen))

    async def alist(
        self, group: str | DeadGroup | None = None, *, after: int | None = None, limit: int = 100, **chosen: Any
    ) -> builtins.list[JobInfo]:
        return await self._app._arun(_jobs(group, after, limit, chosen))

    def count(self, group: str | DeadGroup | None = None, **chosen: Any) -> int:
        """How many an act with this filter would touch now."""
        return self._app._run(store.dead_count(_filter(group, chosen)))

    async def acount(self, group: str | DeadGroup | None = None, **chosen: Any) -> int:
        return await self._app._arun(store.dead_count(_filter(group, chosen)))

    # -- the way back --------------------------------------------------------------------------------------------------

    def redrive(
        self,
        group: str | DeadGroup | None = None,
        *,
        canary: bool = True,
        per_minute: int | None = None,
        by: str = "",
        **chosen: Any,
    ) -> Redrive:
        """Sends those that are dead now back to the queue: one with a single try first, and if it completes the others, at most
        `per_minute`. If it does not, the others stay. The workers' sweep carries it on, whoever dies."""
        number = self._app._run(_start(group, chosen, canary=canary, per_minute=per_minute, by=by))
        return self.get_redrive(number)

    async def aredrive(
        self,
        group: str | DeadGroup | None = None,
        *,
        canary: bool = True,
        per_minute: int | None = None,
        by: str = "",
        **chosen: Any,
    ) -> Redrive:
        number = await self._app._arun(_start(group, chosen, canary=canary, per_minute=per_minute, by=by))
        return await self.aget_redrive(number)

    def get_redrive(self, id: int) -> Redrive:
        return _redrive(id, self._app._run(_redrives(id=id, counts=True)))

    async def aget_redrive(self, id: int) -> Redrive:
        return _redrive(id, await self._app._arun(_redrives(id=id, counts=True)))

    def redrives(self, *, active: bool = False, limit: int = 100) -> builtins.list[Redrive]:
        """Newest first. `active`: only those under way."""
        return self._app._run(_redrives(active=active, limit=limit))

    async def aredrives(self, *, active: bool = False, limit: int = 100) -> builtins.list[Redrive]:
        return await self._app._arun(_redrives(active=active, limit=limit))

    def stop(self, redrive: int | Redrive, *, by: str = "", reason: str = "") -> Redrive:
        """What is back in the queue stays there; the others stay dead."""
        number = redrive.id if isinstance(redrive, Redrive) else redrive
        self._app._run(store.stop_redrive(number, by, reason))
        return self.get_redrive(number)

    async def astop(self, redrive: int | Redrive, *, by: str = "", reason: str = "") -> Redrive:
        number = redrive.id if isinstance(redrive, Redrive) else redrive
        await self._app._arun(store.stop_redrive(number, by, reason))
        return await self.aget_redrive(number)

    def archive(self, group: str | DeadGroup | None = None, *, by: str = "", reason: str = "", **chosen: Any) -> int:
        """Takes them out of the groups without deleting them; retention does that. Answers how many."""
        return self._app._run(store.archive_dead(_filter(group, chosen), by, reason))

    async def aarchive(self, group: str | DeadGroup | None = None, *, by: str = "", reason: str = "", **chosen: Any) -> int:
        return await self._app._arun(store.archive_dead(_filter(group, chosen), by, reason))

    # -- rules ---------------------------------------------------------------------------------------------------------

    def rule(
        self,
        group: str | DeadGroup | None,
        error_class: RuleClass,
        *,
        type: str | None = None,
        pattern: str | None = None,
        by: str = "",
    ) -> int:
        """From now on an error like those of this group is `permanent` (fails at once), `transient` (tried again, within
        max_tries) or `throttled` (waits, and uses no try). Without a group: for a pattern, of one type or of all."""
        return self._app._run(_rule(group, error_class, type, pattern, by))

    async def arule(
        self,
        group: str | DeadGroup | None,
        error_class: RuleClass,
        *,
        type: str | None = None,
        pattern: str | None = None,
        by: str = "",
    ) -> int:
        return await self._app._arun(_rule(group, error_class, type, pattern, by))

    def rules(self) -> builtins.list[ErrorRule]:
        return self._app._run(_rules())

    async def arules(self) -> builtins.list[ErrorRule]:
        return await self._app._arun(_rules())

    def remove_rule(self, id: int, *, by: str = "") -> None:
        self._app._run(store.remove_error_rule(id, by))

    async def aremove_rule(self, id: int, *, by: str = "") -> None:
        await self._app._arun(store.remove_error_rule(id, by))

    # -- messages ------------------------------------------------------------------------------------------------------

    def notifications(self, *, state: str | None = None, limit: int = 100) -> builtins.list[NotificationInfo]:
        """Messages about dead letters, newest first: `pending`, `sent`, or `failed`, which were given up."""
        return self._app._run(store.list_notifications(state, limit, notification_row))

    async def anotifications(self, *, state: str | None = None, limit: int = 100) -> builtins.list[NotificationInfo]:
        return await self._app._arun(store.list_notifications(state, limit, notification_row))


def _filter(group: str | DeadGroup | None, chosen: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if group is not None:
        found["group"] = group.fingerprint if isinstance(group, DeadGroup) else group
    for name, value in chosen.items():
        if name not in FILTERS:
            raise InvalidDeadLetters(f"{name}: dead letters have no such filter; there are group, {', '.join(FILTERS)}", field=name)
        if value is not None:
            found[name] = _plain(name, value)
    if not found:
        raise InvalidDeadLetters(f"say which dead letters: a group, or one of {', '.join(FILTERS)}", field="group")
    return found


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise InvalidDeadLetters(f"{name}: expected a datetime with a time zone, got {value!r}", field=name)
        return value.isoformat()
    if name in _LISTS:
        return [value] if isinstance(value, (str, int)) else list(value)
    return value


def _groups(
    fingerprint: str | None = None, *, type: str | Sequence[str] | None = None, error_class: str | None = None, limit: int = 100
) -> Verb[list[DeadGroup]]:
    types = [type] if isinstance(type, str) else type
    return store.dead_groups(
        fingerprint=fingerprint, types=types, error_class=error_class, limit=_limit(limit), make=lambda row: DeadGroup(*row)
    )


def _one(fingerprint: str, found: list[DeadGroup]) -> DeadGroup:
    if not found:
        raise DeadLettersNotFound(f"there is no group {fingerprint!r} of dead letters", field="group")
    return found[0]


def _jobs(group: str | DeadGroup | None, after: int | None, limit: int, chosen: dict[str, Any]) -> Verb[list[JobInfo]]:
    everything = group is None and not chosen
    return store.dead_jobs({} if everything else _filter(group, chosen), after, _limit(limit))


def _limit(limit: int) -> int:
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidDeadLetters(f"limit: expected 1 to {MOST_LISTED}, got {limit!r}", field="limit")
    return limit


def _start(
    group: str | DeadGroup | None, chosen: dict[str, Any], *, canary: bool, per_minute: int | None, by: str
) -> Verb[int]:  # fmt: skip
    return store.start_redrive(_filter(group, chosen), canary=canary, per_minute=per_minute, by=by)


def _redrives(*, id: int | None = None, active: bool = False, limit: int = 1, counts: bool = False) -> Verb[list[Redrive]]:
    def make(row: Row) -> Redrive:
        return Redrive(*row) if counts else Redrive(*row[:11])

    return store.list_redrives(id=id, active=active, limit=_limit(limit), counts=counts, make=make)


def _redrive(id: int, found: list[Redrive]) -> Redrive:
    if not found:
        raise DeadLettersNotFound(f"there is no redrive {id}", field="redrive")
    return found[0]


def _rule(group: str | DeadGroup | None, error_class: str, type: str | None, pattern: str | None, by: str) -> Verb[int]:
    if error_class not in RULE_CLASSES:
        raise InvalidDeadLetters(f"error_class: a rule says {', '.join(RULE_CLASSES)}, got {error_class!r}", field="error_class")
    if group is not None and (type is not None or pattern is not None):
        raise InvalidDeadLetters("group: a group has its type and its message; give it, or type and pattern", field="group")
    name = group.fingerprint if isinstance(group, DeadGroup) else group
    return store.set_error_rule(group=name, type=type, pattern=pattern, error_class=error_class, by=by)


def _rules() -> Verb[list[ErrorRule]]:
    return store.list_error_rules(lambda row: ErrorRule(*row))
