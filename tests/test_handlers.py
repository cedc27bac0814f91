"""Declaring job types; payloads of older versions."""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import pytest

from lanework._declaration import Declaration, JobSpec
from lanework.context import Context
from lanework.errors import ConfigError, InvalidJob, UnknownJobType
from lanework.handlers import Handler, Handlers, NewerPayload


def digest(ctx: Context, url: str, words: int = 200) -> None: ...


async def adigest(ctx: Context, url: str) -> None: ...


# Declarations


def test_defaults() -> None:
    handler = Handler.declare(digest)
    assert (handler.name, handler.lane, handler.executor, handler.max_tries) == ("digest", "default", "thread", 3)
    assert (handler.timeout, handler.version, handler.backoff_base, handler.on_disconnect) == (None, 1, 1.0, "stop")
    assert not handler.is_async
    assert handler.place.endswith(f"test_handlers.py:{inspect.getsourcelines(digest)[1]}")
    assert Handler.declare(adigest).executor == "async"


def test_async_functions_run_anywhere() -> None:
    assert Handler.declare(adigest, executor="process").is_async
    assert Handler.declare(adigest, executor="thread").is_async


def test_the_typed_options_are_the_options() -> None:
    assert set(Declaration.__annotations__) == {each.name for each in fields(JobSpec)} - {"name"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"priority": 1001}, "expected priority to be an int from -1,000 to 1,000, got 1001"),
        ({"priority": True}, "got True"),
        ({"max_tries": 0}, "expected max_tries to be an int from 1 to 100, got 0"),
        ({"version": 0}, "expected version"),
        ({"timeout": 0}, "expected timeout to be seconds, over 0"),
        ({"timeout": "5"}, "expected timeout to be a number of seconds, or a timedelta, or None, got '5'"),
        ({"timeout": math.inf}, "expected timeout"),
        ({"timeout": math.nan}, "expected timeout"),
        ({"backoff_base": None}, "expected backoff_base"),
        ({"backoff_base": 3601}, "at most 3,600"),
        ({"concurrency": 0}, "expected concurrency"),
        ({"progress": 1}, "expected progress to be True or False, got 1"),
        ({"max_age": -1}, "expected max_age"),
        ({"on_disconnect": "wait"}, "expected on_disconnect to be 'stop' or 'hold', got 'wait'"),
        (
            {"executor": "Ray!"},
            "expected executor to be async, thread, process, or the name of an executor of your own, got 'Ray!'",
        ),
        ({"executor": "async"}, "executor 'async' needs an `async def`"),
        ({"memory_limit": 1 << 30}, "only a process has a limit"),
        ({"lane": ""}, "expected lane to be small letters, digits, '_', '.' or '-', at most 63 of them, got ''"),
        ({"name": "x" * 201}, "expected name to be 1 to 200 printable characters"),
        ({"name": "a\nb"}, "expected name"),
        ({"lanes": "x"}, "unknown option 'lanes': did you mean 'lane'?"),
    ],
)
def test_wrong_declarations(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Handler.declare(digest, **options)
    assert says in str(caught.value)


def test_times_may_be_timedeltas() -> None:
    handler = Handler.declare(digest, timeout=timedelta(minutes=2), max_age=5, stale_after=math.inf)
    assert (handler.timeout, handler.max_age, handler.stale_after) == (120.0, 5.0, math.inf)


def _no_parameters() -> None: ...
def _no_context(url: str) -> None: ...
def _keyword_context(*, ctx: Context) -> None: ...
def _many(ctx: Context, *urls: str) -> None: ...
def _positional(ctx: Context, url: str, /) -> None: ...


@pytest.mark.parametrize(
    ("fn", "says"),
    [
        (_no_parameters, "first parameter is its context, as in `def _no_parameters(ctx: Context, …)`; it has no param"),
        (_no_context, "its first parameter is `url: 'str'`"),
        (_keyword_context, "first parameter is its context"),
        (_many, "`*urls` has no names to store; take a list instead"),
        (_positional, "`url` is positional-only, but arguments are stored by name"),
        (lambda: (yield), "it does not yield"),
    ],
)
def test_wrong_signatures(fn: Callable[..., Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Handler.declare(fn)
    assert says in str(caught.value)


def test_context_may_have_another_name_or_no_annotation() -> None:
    def named(c: Context, n: int) -> None: ...
    def bare(ctx, n):  # type: ignore[no-untyped-def]
        ...

    assert Handler.declare(named).bind(1) == Handler.declare(bare).bind(1) == '{"n":1}'


def test_registry_refuses_two_of_one_name() -> None:
    handlers = Handlers()
    first = handlers.add(Handler.declare(digest))
    with pytest.raises(ConfigError) as caught:
        handlers.add(Handler.declare(adigest, "digest"))
    assert first.place in str(caught.value)
    assert Handler.declare(adigest).place in str(caught.value)
    assert handlers["digest"] is first
    assert handlers.get("other") is None
    with pytest.raises(UnknownJobType, match=r"no job is named 'digets': did you mean 'digest'\?"):
        handlers["digets"]
    assert handlers.versions == {"digest": (1, 1)}


# Versions


def versioned() -> Handler:
    def fn(ctx: Context, url: str, words: int) -> None: ...

    return Handler.declare(fn, version=3)


def test_older_payloads_are_upgraded_step_by_step() -> None:
    handler = versioned()
    assert handler.accepts_versions == (3, 3)
    handler.add_upgrade(lambda payload: {**payload, "words": 10}, 2)
    assert handler.accepts_versions == (2, 3)
    handler.add_upgrade(lambda payload: {"url": payload.pop("link")}, 1)
    assert handler.accepts_versions == (1, 3)
    old = {"link": "u"}
    assert handler.load(old, 1) == {"url": "u", "words": 10}
    assert old == {"link": "u"}
    assert handler.load({"url": "u", "words": 1}, 3) == {"url": "u", "words": 1}


def test_versions_out_of_reach() -> None:
    handler = versioned()
    with pytest.raises(NewerPayload, match="the payload has version 4, this code knows up to 3"):
        handler.load({}, 4)
    with pytest.raises(InvalidJob, match="has version 1, this code takes 3 to 3: register an upgrade from version 2"):
        handler.load({}, 1)
    handler.add_upgrade(lambda payload: None, 2)  # type: ignore[arg-type,return-value]
    with pytest.raises(ConfigError, match="the upgrade from version 2 returned NoneType, not a dict"):
        handler.load({}, 2)


@pytest.mark.parametrize("start", [0, 3, 4, "1", True])
def test_wrong_upgrades(start: Any) -> None:
    with pytest.raises(ConfigError, match="an upgrade starts from a version between 1 and 2"):
        versioned().add_upgrade(dict, start)


def test_two_upgrades_from_one_version() -> None:
    handler = versioned()
    handler.add_upgrade(dict, 2)
    with pytest.raises(ConfigError, match="two upgrades from version 2"):
        handler.add_upgrade(lambda payload: payload, 2)


def test_pydantic_is_not_imported() -> None:
    code = "import sys, lanework.job; h = lanework.handlers.Handler.declare(lambda ctx, a: 1); h.bind(a=(1, sys.path)); "
    run = [sys.executable, "-c", code + "print('pydantic' in sys.modules)"]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "False\n"
