"""The job types that an application declares: `Handler` is one of them, `Handlers` all of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from lanework._binding import Binding
from lanework._declaration import Declaration, Executor, JobSpec, OnDisconnect
from lanework._plain import show, type_name
from lanework.errors import ConfigError, InvalidJob, InvalidResult, NewerPayload, UnknownJobType
from lanework.estimates import Estimate
from lanework.outcomes import Outcome

__all__ = ["Declaration", "Executor", "Handler", "Handlers", "JobSpec", "NewerPayload", "OnDisconnect", "Payloads", "Upgrade"]

#: The built-in lane in which costs are estimated, and what it starts with.
ESTIMATES = "estimates"
ESTIMATES_LANE = {"max_slots": 2, "poll_interval_ms": 2000}

#: Makes a payload of version n one of version n + 1.
Upgrade = Callable[[dict[str, Any]], dict[str, Any]]


class Payloads:
    """The payloads of a bulk submit, checked and encoded while they are sent: one that is wrong ends the submit, and its
    transaction with it."""

    def __init__(self, binding: Binding, items: Sequence[tuple[Any, ...] | Mapping[str, Any]]) -> None:
        self._binding, self._items = binding, items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return self._binding.encode_many(self._items)


@dataclass(frozen=True, kw_only=True, eq=False)
class Handler(JobSpec):
    """A job type with its function: checks and encodes arguments, and loads them again for a run."""

    fn: Callable[..., Any]
    #: The name of the type that jobs of this one estimate.
    estimates: str | None = None
    is_async: bool = field(init=False)
    #: `file.py:12`, for messages.
    place: str = field(init=False)
    #: What estimates a job of this type, a type of its own.
    estimator: Handler | None = field(init=False, repr=False, default=None)
    _binding: Binding = field(init=False, repr=False)
    _upgrades: dict[int, Upgrade] = field(init=False, repr=False, default_factory=dict)

    @classmethod
    def declare(cls, fn: Callable[..., Any], name: str | None = None, **options: Any) -> Handler:
        """What `@app.job` does. Raises `ConfigError` for whatever is wrong with it."""
        shown = name if name is not None else getattr(fn, "__name__", type(fn).__name__)
        for option in options.keys() - Declaration.__annotations__.keys():
            raise ConfigError(f"job {shown!r}: unknown option {option!r}{_did_you_mean(option, Declaration.__annotations__)}")
        options.setdefault("executor", "async" if _is_async(fn) else "thread")
        return cls(name=shown, fn=fn, **options)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(is_async=_is_async(self.fn), place=_place(self.fn))
        code = inspect.unwrap(self.fn)
        if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
            raise ConfigError(f"job {self.name!r}: a handler returns its result, it does not yield ({self.place})")
        if self.executor == "async" and not self.is_async:
            raise ConfigError(
                f"job {self.name!r}: executor 'async' needs an `async def`; a plain function would block every other "
                f"job of the worker: use 'thread' or 'process' ({self.place})"
            )
        self._set(_binding=Binding(self.name, self.fn))

    def declare_estimator(self, fn: Callable[..., Any], **options: Any) -> Handler:
        """What `@job.estimator` does: a job type beside this one, in the lane `estimates`, that takes the same arguments."""
        if self.estimator is not None:
            raise ConfigError(f"job {self.name!r} has two estimators: {self.estimator.place} and {_place(fn)}")
        if self.estimates is not None:
            raise ConfigError(f"job {self.name!r} is an estimator; it has none of its own")
        options = {"lane": ESTIMATES, "timeout": 300.0, "backoff_base": self.backoff_base, "version": self.version, **options}
        options.setdefault("executor", "async" if _is_async(fn) else "thread")
        made = Handler(name=f"{self.name}:estimate", fn=_estimating(fn), estimates=self.name, internal=True, **options)
        self._binding.must_fit(made._binding, _place(fn))
        made._set(_upgrades=self._upgrades)  # an old payload is upgraded for both
        self._set(estimator=made)
        return made

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    # Submit

    def bind(self, *args: Any, **kwargs: Any) -> str:
        """The payload, as JSON text, of a submit with these arguments; `InvalidJob` names the argument at fault."""
        return self._binding.encode(args, kwargs)

    def bind_many(self, items: Sequence[tuple[Any, ...] | Mapping[str, Any]]) -> Payloads:
        """The payloads of many submits: a tuple has positional arguments, a mapping has named ones."""
        return Payloads(self._binding, items)

    def bind_json(self, payload: Mapping[str, Any], *, by_code: bool = False) -> str:
        """The payload of a submit whose arguments are JSON already: from HTTP, a command line, a schedule. Whoever has named
        the type may not have one that is internal; `by_code`: whoever asks has the job itself."""
        if self.internal and not by_code:
            raise InvalidJob(f"job {self.name!r} is the application's own: its code submits it, nobody does by name", field="type")
        return self._binding.encode_json(payload)

    # Run

    def load(self, payload: dict[str, Any], version: int) -> dict[str, Any]:
        """The arguments of a run, as `fn(ctx, **arguments)`: upgraded to this version and of the declared types."""
        if version != self.version:
            payload = self._upgraded(payload, version)
        return self._binding.load(payload)

    @property
    def accepts_versions(self) -> tuple[int, int]:
        """The oldest and the newest version of payloads that `load` takes."""
        oldest = self.version
        while oldest - 1 in self._upgrades:
            oldest -= 1
        return oldest, self.version

    def add_upgrade(self, upgrade: Upgrade, from_version: int) -> None:
        if type(from_version) is not int or not 1 <= from_version < self.version:
            raise ConfigError(
                f"job {self.name!r} has version {self.version}: an upgrade starts from a version between 1 and "
                f"{self.version - 1}, got {show(from_version)}"
            )
        if from_version in self._upgrades:
            places = f"{_place(self._upgrades[from_version])} and {_place(upgrade)}"
            raise ConfigError(f"job {self.name!r} has two upgrades from version {from_version}: {places}")
        self._upgrades[from_version] = upgrade

    def _upgraded(self, payload: dict[str, Any], version: int) -> dict[str, Any]:
        oldest, newest = self.accepts_versions
        if version > newest:
            raise NewerPayload(f"job {self.name!r}: the payload has version {version}, this code knows up to {newest}")
        if version < oldest:
            raise InvalidJob(
                f"job {self.name!r}: the payload has version {version}, this code takes {oldest} to {newest}: "
                f"register an upgrade from version {oldest - 1}",
                field="version",
            )
        for step in range(version, newest):
            upgraded: object = self._upgrades[step](dict(payload))
            if not isinstance(upgraded, dict):
                found = type_name(type(upgraded))
                raise ConfigError(f"job {self.name!r}: the upgrade from version {step} returned {found}, not a dict")
            payload = upgraded
        return payload


class Handlers(dict[str, Handler]):
    """Handlers by name. A name that is not declared raises `UnknownJobType`."""

    def add(self, handler: Handler) -> Handler:
        if (known := self.get(handler.name)) is not None:
            raise ConfigError(f"two jobs are named {handler.name!r}: {known.place} and {handler.place}; give one another name")
        self[handler.name] = handler
        return handler

    def __missing__(self, name: str) -> Handler:
        raise UnknownJobType(f"no job is named {show(name)}{_did_you_mean(name, self)}", field="type")

    @property
    def versions(self) -> dict[str, tuple[int, int]]:
        """What a worker may claim: per type, the oldest and newest version of payloads."""
        return {name: handler.accepts_versions for name, handler in self.items()}


def _estimating(fn: Callable[..., Any]) -> Callable[..., Any]:
    """An estimator as a handler: its estimate is stored as the result."""

    def stored(value: Any) -> Any:
        if isinstance(value, Estimate):
            return value.stored()
        if isinstance(value, Outcome):
            return value
        raise InvalidResult(f"an estimator returns an Estimate, got {show(value)} ({_place(fn)})")

    if _is_async(fn):

        @functools.wraps(fn)
        async def aestimate(*args: Any, **kwargs: Any) -> Any:
            return stored(await fn(*args, **kwargs))

        return aestimate

    @functools.wraps(fn)
    def estimate(*args: Any, **kwargs: Any) -> Any:
        return stored(fn(*args, **kwargs))

    return estimate


def _is_async(fn: Any) -> bool:
    code = inspect.unwrap(fn)
    return inspect.iscoroutinefunction(code) or inspect.iscoroutinefunction(getattr(code, "__call__", None))  # noqa: B004


def _place(fn: Any) -> str:
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else show(fn)


def _did_you_mean(wrong: str, known: Iterable[str]) -> str:
    names = sorted(known)
    close = get_close_matches(str(wrong), names, n=1)
    if close:
        return f": did you mean {close[0]!r}?"
    return f"; known: {', '.join(names[:20])}" if names else "; none is declared"
