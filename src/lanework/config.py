"""All settings of the engine: one object, each field with its meaning, unit, default and environment name."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from lanework.errors import ConfigError


def setting(
    default: Any, env: str, help: str, *, unit: str = "", low: float | None = None, high: float | None = None, secret: bool = False
) -> Any:
    """`secret`: its value is in no text of the settings."""
    return field(default=default, repr=not secret, metadata={"env": env, "help": help, "unit": unit, "low": low, "high": high})


@dataclass(frozen=True)
class Loaded:
    """Settings of one layer: given in code, else from the environment, else the default. `origin` says which it was."""

    origin: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for item in fields(self):
            _check_bounds(item.name, getattr(self, item.name), item.metadata)

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None, **given: Any) -> Self:
        """Settings from code (`given`; None means not given) over the environment over the defaults."""
        environ = os.environ if environ is None else environ
        known = {item.name: item for item in fields(cls) if item.name != "origin"}
        _check_known(cls, given)
        values: dict[str, Any] = {}
        origin: dict[str, str] = {}
        for name, item in known.items():
            env = item.metadata["env"]
            if given.get(name) is not None:
                values[name], origin[name] = given[name], "code"
            elif environ.get(env, "") != "":
                values[name], origin[name] = _parse(env, environ[env], str(item.type)), env
            else:
                origin[name] = "default"
        return cls(**values, origin=origin)

    def changed(self, **given: Any) -> Self:
        """The same settings but for these."""
        _check_known(type(self), given)
        return replace(self, **given, origin={**self.origin, **dict.fromkeys(given, "code")}) if given else self

    @classmethod
    def describe(cls) -> list[dict[str, Any]]:
        """One row per setting, for `lanework doctor` and the manual."""
        return [
            {"name": item.name, "default": item.default, **{key: item.metadata[key] for key in ("env", "unit", "help")}}
            for item in fields(cls)
            if item.name != "origin"
        ]


@dataclass(frozen=True)
class Settings(Loaded):
    """The engine's. Given in code, else from the environment, else the default. `origin` says which it was."""

    dsn: str | None = setting(None, "LANEWORK_DSN", "the PostgreSQL to use; none: an embedded one in `data`")
    direct_dsn: str | None = setting(
        None, "LANEWORK_DIRECT_DSN", "the same database without a pooler in between, for heartbeats, LISTEN and migrations"
    )
    data: str | None = setting(None, "LANEWORK_DATA", "folder of the embedded PostgreSQL; none: the user's data folder")
    migrate: str = setting("auto", "LANEWORK_MIGRATE", "auto: bring the schema up to date at start; check: refuse an old one")
    worker: bool = setting(True, "LANEWORK_WORKER", "off keeps this application from working jobs")
    allow_unsafe: bool = setting(False, "LANEWORK_ALLOW_UNSAFE", "accept a server that can lose committed jobs (fsync off)")

    max_jobs: int = setting(2000, "LANEWORK_MAX_JOBS", "jobs a process runs at once, over all lanes", low=1, high=100_000)
    max_threads: int = setting(32, "LANEWORK_MAX_THREADS", "threads a process uses for `thread` jobs", low=1, high=10_000)
    max_children: int = setting(
        os.cpu_count() or 1, "LANEWORK_MAX_CHILDREN", "child processes a process uses for `process` jobs", low=1, high=10_000
    )
    child_jobs: int = setting(100, "LANEWORK_CHILD_JOBS", "jobs after which a child process is replaced", low=1)
    child_nice: int = setting(
        5,
        "LANEWORK_CHILD_NICE",
        "niceness of child processes: what burns a core leaves it to heartbeats and HTTP",
        low=0,
        high=19,
    )
    grace: float = setting(30.0, "LANEWORK_GRACE", "how long running jobs may finish after SIGTERM", unit="s", low=0, high=86_400)

    expiry: float = setting(30.0, "LANEWORK_EXPIRY", "silence after which a worker is declared dead", unit="s", low=1, high=3600)
    fence_after: float = setting(
        20.0, "LANEWORK_FENCE_AFTER", "without a heartbeat for this long a worker stops its jobs itself", unit="s", low=0.5
    )
    beat: float = setting(1.0, "LANEWORK_BEAT", "heartbeat while jobs run", unit="s", low=0.05, high=60)
    idle_beat: float = setting(5.0, "LANEWORK_IDLE_BEAT", "heartbeat while none run", unit="s", low=0.05, high=60)
    sweep: float = setting(
        5.0, "LANEWORK_SWEEP", "how often dead workers, overdue and stale jobs are looked for", unit="s", low=0.05
    )
    upkeep: float = setting(
        30.0, "LANEWORK_UPKEEP", "how often the leader looks for maintenance tasks that are due", unit="s", low=0.1
    )
    lease: float = setting(20.0, "LANEWORK_LEASE", "how long a leader leads without renewing", unit="s", low=0.2)
    approval_expiry: float = setting(
        86_400.0, "LANEWORK_APPROVAL_EXPIRY", "how long a job waits for an approval, then it is cancelled", unit="s",
        low=1,
    )  # fmt: skip
    notify: bool = setting(True, "LANEWORK_NOTIFY", "send and take NOTIFY hints; off: polling only")

    connections: int = setting(
        4, "LANEWORK_CONNECTIONS", "connections a client process keeps for submits and reads", low=1, high=100
    )
    connect_timeout: float = setting(10.0, "LANEWORK_CONNECT_TIMEOUT", "how long to wait for a connection", unit="s", low=1)
    statement_timeout: float = setting(60.0, "LANEWORK_STATEMENT_TIMEOUT", "limit of one statement of the engine", unit="s", low=1)
    log_lines: int = setting(10_000, "LANEWORK_LOG_LINES", "log entries kept of one attempt", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.migrate not in ("auto", "check"):
            raise ConfigError(f"migrate: expected 'auto' or 'check', got {self.migrate!r}")
        if max(self.beat, self.idle_beat) * 2 > self.fence_after:
            raise ConfigError(
                f"beat ({self.beat} s) and idle_beat ({self.idle_beat} s) must be at most half of fence_after "
                f"({self.fence_after} s): one late heartbeat is no reason to stop all jobs"
            )
        if self.fence_after >= self.expiry:
            raise ConfigError(
                f"fence_after ({self.fence_after} s) must be below expiry ({self.expiry} s): "
                "a worker stops its jobs before others may take them"
            )


def _check_known(settings: type[Loaded], given: Mapping[str, Any]) -> None:
    known = sorted(item.name for item in fields(settings) if item.name != "origin")
    for name in given:
        if name not in known:
            raise ConfigError(f"{name}: there is no such setting; known are {', '.join(known)}")


def _parse_bool(text: str) -> bool:
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError


_PARSERS: dict[str, Callable[[str], Any]] = {"bool": _parse_bool, "int": int, "float": float}


def _parse(env: str, text: str, kind: str) -> Any:
    try:
        return _PARSERS.get(kind, str)(text)
    except ValueError:
        raise ConfigError(f"{env}: expected {'on or off' if kind == 'bool' else f'a {kind}'}, got {text!r}") from None


def _check_bounds(name: str, value: Any, metadata: Mapping[str, Any]) -> None:
    low, high, unit = metadata.get("low"), metadata.get("high"), metadata.get("unit", "")
    if low is None and high is None:
        return
    wrong = isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value)
    if wrong or (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"{low} to {high}"
        raise ConfigError(f"{name}: expected {bounds}{f' {unit}' if unit else ''}, got {value!r}")
