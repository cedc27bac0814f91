"""What `@app.job` declares about a job type: every option with its meaning, unit, default and bounds."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypedDict, get_args

from lanework._plain import show
from lanework.approvals import Policy, parts
from lanework.errors import ConfigError, InvalidApproval

#: Where a body runs; besides these, the names that `app.executor` has registered.
Executor = Literal["async", "thread", "process"]
OnDisconnect = Literal["stop", "hold"]
Seconds = float | timedelta

CENTURY = 36_525 * 86_400.0
EXECUTORS: tuple[str, ...] = get_args(Executor)


class Declaration(TypedDict, total=False):
    """The options of `@app.job`, for type checkers. `JobSpec` says what they mean."""

    lane: str
    executor: str
    max_tries: int
    timeout: Seconds | None
    version: int
    priority: int
    concurrency: int | None
    progress: bool
    stale_after: Seconds | None
    backoff_base: Seconds
    max_age: Seconds | None
    on_disconnect: OnDisconnect
    memory_limit: int | None
    approval: Policy
    approval_expiry: Seconds | None
    four_eyes: bool
    permits: Sequence[str] | Mapping[str, int]
    rate: str | None
    internal: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class JobSpec:
    """A job type as declared, checked."""

    #: 1 to 200 printable characters; the function's name unless given.
    name: str
    #: The lane that gets the type at its first start; later the row in the database decides.
    lane: str = "default"
    #: Where the body runs. `async` for coroutine functions and `thread` for plain ones unless given.
    executor: str = "thread"
    #: Errors and timeouts that are allowed before the job fails, 1 to 100.
    max_tries: int = 3
    #: Seconds that one run may take; None: no limit.
    timeout: float | None = None
    #: The version of the payload, 1 or more. Raise it when old payloads need `@job.upgrade`.
    version: int = 1
    #: −1000 to 1000, higher first.
    priority: int = 0
    #: Jobs of this type that may run at once in the whole cluster; None: as many as the lane allows.
    concurrency: int | None = None
    #: The handler reports progress, so its silence means that it is stuck.
    progress: bool = False
    #: Seconds without progress after which a run is stopped; None: as the lane says; `math.inf`: never.
    stale_after: float | None = None
    #: Seconds before the first retry; doubled for each one after, up to an hour.
    backoff_base: float = 1.0
    #: Seconds after submit by which the job must have finished; None: no limit.
    max_age: float | None = None
    #: When the database cannot be reached: `stop` the run, or `hold`, which lets it go on and wait.
    on_disconnect: OnDisconnect = "stop"
    #: Bytes of memory that a run may use; only with executor `process`. None: no limit.
    memory_limit: int | None = None
    #: Who needs an approval before it starts: `"always"`, `"never"`, `Above(sum)`. An operator's rule comes first.
    approval: Policy = "never"
    #: Seconds after which a job that nobody has approved is cancelled; None: as the settings say (24 h).
    approval_expiry: float | None = None
    #: Whoever approves a job must be another than its owner, and than who has edited it.
    four_eyes: bool = False
    #: Submitted by the application's code alone: not by name, so not over HTTP, by a command or by a schedule.
    internal: bool = False
    #: Permits that are taken with the claim and held while the job runs: names, or names with the first value of their capacity.
    #: `name@host`: one for each host. A job whose permits are not free waits without a slot.
    permits: Any = ()
    #: The rate that an error of class `throttled` pauses for the whole cluster; jobs of this type wait for its end.
    rate: str | None = None

    def __post_init__(self) -> None:
        self._check_text("name", self.name)
        self._check_pattern("lane", r"[a-z][a-z0-9_.-]{0,62}", "small letters, digits, '_', '.' or '-', at most 63 of them")
        self._check_pattern("executor", r"[a-z][a-z0-9_-]{0,30}", "async, thread, process, or the name of an executor of your own")
        self._check_one_of("on_disconnect", get_args(OnDisconnect))
        self._check_int("max_tries", 1, 100)
        self._check_int("version", 1, 32_767)
        self._check_int("priority", -1000, 1000)
        self._check_int("concurrency", 1, 10_000, optional=True)
        self._check_int("memory_limit", 1024 * 1024, 2**50, optional=True)
        self._check_seconds("timeout", optional=True)
        self._check_seconds("stale_after", optional=True, never=True)
        self._check_seconds("backoff_base", most=3600)
        self._check_seconds("max_age", optional=True)
        self._check_seconds("approval_expiry", optional=True)
        self._check_permits()
        if self.rate is not None:
            self._check_text("rate", self.rate)
        for option in ("progress", "four_eyes", "internal"):
            if not isinstance(getattr(self, option), bool):
                raise self._wrong(option, "True or False")
        try:
            parts(self.approval)
        except InvalidApproval:
            raise self._wrong("approval", "'always', 'never' or Above(sum)") from None
        if self.memory_limit is not None and self.executor != "process":
            raise self._wrong("memory_limit", f"None, because executor is {self.executor!r}: only a process has a limit")

    def _check_permits(self) -> None:
        given = self.permits
        if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
            raise self._wrong("permits", "a list of names, or a mapping of names to capacities")
        found = dict(given) if isinstance(given, Mapping) else dict.fromkeys(given)
        for name, capacity in found.items():
            self._check_text("permits", name)
            if "@" in name and not name.endswith("@host"):
                raise self._wrong("permits", "names without '@', or with '@host' at the end")
            if capacity is not None and (type(capacity) is not int or not 0 <= capacity <= 10_000):
                raise self._wrong("permits", "names with a capacity from 0 to 10,000")
        object.__setattr__(self, "permits", found)

    def _check_text(self, option: str, value: Any) -> None:
        if not isinstance(value, str) or not 1 <= len(value) <= 200 or not value.isprintable() or value.isspace():
            raise self._wrong(option, "1 to 200 printable characters")

    def _check_pattern(self, option: str, pattern: str, expected: str) -> None:
        value = getattr(self, option)
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise self._wrong(option, expected)

    def _check_one_of(self, option: str, choices: Collection[str]) -> None:
        if getattr(self, option) not in choices:
            raise self._wrong(option, " or ".join(map(repr, choices)))

    def _check_int(self, option: str, least: int, most: int, *, optional: bool = False) -> None:
        value = getattr(self, option)
        if value is None and optional:
            return
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(option, f"an int from {least:,} to {most:,}{' or None' if optional else ''}")

    def _check_seconds(self, option: str, *, optional: bool = False, never: bool = False, most: float = CENTURY) -> None:
        value = getattr(self, option)
        if value is None and optional:
            return
        if isinstance(value, timedelta):
            value = value.total_seconds()
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self._wrong(option, f"a number of seconds, or a timedelta{', or None' if optional else ''}")
        if not (0 < value <= most or (never and value == math.inf)):
            raise self._wrong(option, f"seconds, over 0 and at most {most:,.0f}{', or None' if optional else ''}")
        object.__setattr__(self, option, float(value))

    def _wrong(self, option: str, expected: str) -> ConfigError:
        return ConfigError(f"job {show(self.name)}: expected {option} to be {expected}, got {show(getattr(self, option))}")
