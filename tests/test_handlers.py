"""Declaring job types, checking and storing their arguments, loading them again."""

from __future__ import annotations

import inspect
import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict
from uuid import UUID

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanework._declaration import Declaration, JobSpec
from lanework.context import Context
from lanework.errors import ConfigError, InvalidJob, UnknownJobType
from lanework.handlers import Handler, Handlers, NewerPayload

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Node:
    name: str
    at: datetime | None = None
    children: list[Node] = field(default_factory=list)
    size: int = field(init=False, default=0)


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


class Order(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")
    id: UUID
    total: Decimal = pydantic.Field(alias="sum")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def double(self) -> Decimal:
        return self.total * 2


UserId = NewType("UserId", int)


def digest(ctx: Context, url: str, words: int = 200) -> None: ...


async def adigest(ctx: Context, url: str) -> None: ...


def handler_of(annotation: Any) -> Handler:
    def fn(ctx: Context, it: Any) -> None: ...

    fn.__annotations__["it"] = annotation
    return Handler.declare(fn)


def round_trip(annotation: Any, value: Any) -> Any:
    handler = handler_of(annotation)
    return handler.load(json.loads(handler.bind(value)), 1)["it"]


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


# Binding


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        (("u",), {}, '{"url":"u"}'),
        (("u", 5), {}, '{"url":"u","words":5}'),
        (("u",), {"words": 5}, '{"url":"u","words":5}'),
        ((), {"words": 5, "url": "é\n"}, '{"url":"é\\n","words":5}'),
    ],
)
def test_payloads_name_what_was_given_in_the_order_of_the_signature(
    args: tuple[Any, ...], kwargs: dict[str, Any], text: str
) -> None:
    assert Handler.declare(digest).bind(*args, **kwargs) == text


@pytest.mark.parametrize(
    ("args", "kwargs", "wrong", "says"),
    [
        ((), {}, "url", "job 'digest' needs the argument 'url'"),
        ((1,), {}, "url", "job 'digest', argument 'url': expected str, got 1 (int)"),
        (("u", "x" * 500), {}, "words", "expected int, got 'xxxx"),
        (("u", True), {}, "words", "expected int, got True (bool)"),
        (("u", 1.0), {}, "words", "expected int, got 1.0 (float)"),
        (("u", None), {}, "words", "expected int, got None"),
        (("u", 1, 2), {}, "args", "takes 2 positional arguments, got 3"),
        (("u",), {"url": "v"}, "url", "got two values for 'url'"),
        (("u",), {"wordz": 1}, "wordz", "has no argument 'wordz'; it takes: url, words"),
        (("a\0",), {}, "url", "url has a NUL character at position 1"),
        (("a\ud800",), {}, "url", "url has a lone surrogate"),
        (("u", 10**5000), {}, "words", "words has more than 4,300 digits"),
        (("x" * 300_000,), {}, "payload", "payload is 300,010 bytes, the limit is 262,144 bytes"),
    ],
)
def test_wrong_arguments_are_named(args: tuple[Any, ...], kwargs: dict[str, Any], wrong: str, says: str) -> None:
    handler = Handler.declare(digest)
    with pytest.raises(InvalidJob) as caught:
        handler.bind(*args, **kwargs)
    assert caught.value.field == wrong
    assert says in str(caught.value)
    assert len(str(caught.value)) < 250
    if not kwargs:
        with pytest.raises(InvalidJob, match=r"^items\[1\]: ") as caught:
            list(handler.bind_many([("u",), args]))
        assert caught.value.field == wrong


def test_keyword_only_and_open_parameters() -> None:
    def fn(ctx: Context, a: int, *, b: int, **more: str) -> None: ...

    handler = Handler.declare(fn)
    assert handler.bind(1, b=2) == '{"a":1,"b":2}'
    assert handler.bind(1, z="z", b=2) == '{"a":1,"b":2,"z":"z"}'
    assert handler.load({"a": 1, "b": 2, "z": "z"}, 1) == {"a": 1, "b": 2, "z": "z"}
    for args, kwargs, wrong in (((1,), {}, "b"), ((1, 2), {}, "args"), ((1,), {"b": 2, "z": 1}, "z")):
        with pytest.raises(InvalidJob) as caught:
            handler.bind(*args, **kwargs)
        assert caught.value.field == wrong


def test_bind_many_takes_tuples_and_mappings() -> None:
    handler = Handler.declare(digest)
    items: list[Any] = [("a",), {"url": "b"}, {"words": 3, "url": "c"}, ("d", 4)]
    payloads = handler.bind_many(items)
    assert len(payloads) == 4
    assert list(payloads) == [handler.bind(*item) if isinstance(item, tuple) else handler.bind(**item) for item in items]
    assert list(handler.bind_many([])) == []
    with pytest.raises(InvalidJob, match=r"items\[0\]: expected a tuple of arguments or a dict of named ones, got 'abc'"):
        list(handler.bind_many(["abc"]))  # type: ignore[list-item]


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())


@given(scalars, scalars)
def test_the_quick_way_and_the_long_way_agree(first: Any, second: Any) -> None:
    def fn(ctx: Context, a: Any, b: float | str | None = None) -> None: ...

    handler = Handler.declare(fn)
    found: list[Any] = []
    for kwargs in ({"a": first, "b": second}, {"b": second, "a": first}):  # only the first is quick
        try:
            found.append(handler.bind(**kwargs))
        except InvalidJob as error:
            found.append((str(error), error.field))
    assert found[0] == found[1]
    if isinstance(found[0], str):
        assert json.loads(found[0]) == {"a": first, "b": second}


# Types

LOADED: list[tuple[Any, Any]] = [
    (str, "x"),
    (int, 3),
    (float, 2.5),
    (bool, True),
    (None, None),
    (Any, {"a": [1]}),
    (Optional[int], None),  # noqa: UP045
    (int | None, 3),
    (list[int], [1, 2]),
    (list, [1, "a"]),
    (dict[str, list[int]], {"a": [1]}),
    (Mapping[str, int], {"a": 1}),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (tuple, (1, "a")),
    (Sequence[str], ["a"]),
    (Literal["a", 1], 1),
    (Literal[Colour.RED], Colour.RED),
    (Colour, Colour.BLUE),
    (UserId, 5),
    (Annotated[int, "metres"], 5),
    (datetime, datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)),
    (datetime | str, "not a date"),
    (datetime | str | None, datetime(2026, 1, 1, tzinfo=UTC)),
    (float | int, 2.0),
    (date, date(2026, 1, 2)),
    (time, time(1, 2)),
    (timedelta, timedelta(days=1, seconds=1.5)),
    (UUID, UUID(int=7)),
    (Decimal, Decimal("1.10")),
    (Path, Path("/tmp/x")),
    (Options, {"deep": True}),
    (Node, Node("a", datetime(2026, 1, 1, tzinfo=UTC), [Node("b")])),
    (list[Node] | None, [Node("a")]),
    (Order, Order(id=UUID(int=1), sum=Decimal("1.5"))),
    (dict[str, Order], {"x": Order(id=UUID(int=1), sum=Decimal("1.5"))}),
]


@pytest.mark.parametrize(("annotation", "value"), LOADED, ids=[str(each[0]) for each in LOADED])
def test_arguments_come_back_as_declared(annotation: Any, value: Any) -> None:
    loaded = round_trip(annotation, value)
    assert loaded == value
    assert type(loaded) is type(value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, 1), (int, "1"), (int, True), (int, 1.0), (float, "1"), (float, True), (bool, 1), (None, 0),
        (int | None, "x"), (list[int], [1, "a"]), (list[int], (1,)), (dict[str, int], {"a": "b"}), (tuple[int, str], (1,)),
        (tuple[int, ...], (1, "a")), (Sequence[str], "text"), (Literal["a", 1], "b"), (Literal[1], True), (Colour, "red"),
        (datetime, "2026-01-01"), (date, datetime(2026, 1, 1)), (UUID, "x"), (Options, {"deep": True, "other": 1}),
        (Options, {}), (Options, {"deep": 1}), (Node, Node(1)), (Node, {"name": "a"}),  # type: ignore[arg-type]
        (list[Node], [Node("a", children=["b"])]), (Order, {"id": "x"}), (Path, "/tmp"),  # type: ignore[list-item]
    ],
)  # fmt: skip
def test_wrong_types_are_refused_at_submit(annotation: Any, value: Any) -> None:
    with pytest.raises(InvalidJob, match="argument 'it': expected ") as caught:
        handler_of(annotation).bind(value)
    assert caught.value.field == "it"


@pytest.mark.parametrize(
    ("annotation", "stored"),
    [
        (str, 1), (int, True), (float, "x"), (float, 10**400), (list[int], {}), (list[int], ["a"]), (datetime, "soon"),
        (datetime, 5), (UUID, "x"), (Decimal, "x"), (Colour, "green"), (timedelta, "x"), (timedelta, 1e300), (Path, 1),
        (tuple[int, str], [1]), (Node, {}), (Node, {"name": "a", "other": 1}), (Node, []), (Options, {}), (Order, {}),
        (int | datetime, "soon"), (Literal["a"], "b"),
    ],
)  # fmt: skip
def test_wrong_stored_payloads_are_refused_at_the_run(annotation: Any, stored: Any) -> None:
    """Plain SQL can enqueue anything."""
    with pytest.raises(InvalidJob, match="argument 'it': ") as caught:
        handler_of(annotation).load({"it": stored}, 1)
    assert caught.value.field == "it"


def test_floats_may_be_stored_as_ints() -> None:
    loaded = handler_of(float).load({"it": 10**20}, 1)["it"]
    assert loaded == 1e20
    assert type(loaded) is float
    assert handler_of(float).bind(3) == '{"it":3}'


@pytest.mark.parametrize(("payload", "wrong"), [({}, "url"), ({"url": "u", "x": 1}, "x"), ([], "payload"), (None, "payload")])
def test_payloads_that_do_not_fit(payload: Any, wrong: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        Handler.declare(digest).load(payload, 1)
    assert caught.value.field == wrong


def test_models_are_read_by_name_and_by_alias() -> None:
    handler = handler_of(Order)
    order = Order(id=UUID(int=1), sum=Decimal("1.5"))
    assert json.loads(handler.bind(order)) == {"it": {"id": str(order.id), "total": "1.5"}}
    assert handler.load({"it": {"id": str(order.id), "sum": "1.5"}}, 1)["it"] == order


def test_json_arguments_are_checked_as_a_run_would() -> None:
    handler = handler_of(datetime)
    assert handler.bind_json({"it": "2026-01-01T00:00:00+00:00"}) == '{"it":"2026-01-01T00:00:00+00:00"}'
    for bad in ({"it": "soon"}, {}, {"other": 1}, {"it": "\0"}):
        with pytest.raises(InvalidJob):
            handler.bind_json(bad)


def test_deep_values_are_refused_whatever_the_annotation() -> None:
    node = Node("a")
    plain: Any = []
    for _ in range(10_000):
        node, plain = Node("a", children=[node]), [plain]
    for annotation, value in ((Node, node), (Any, plain), (list, plain)):
        with pytest.raises(InvalidJob, match="nested"):
            handler_of(annotation).bind(value)


# Annotations that are text (this module's are)


def test_names_defined_around_and_after_the_declaration() -> None:
    @dataclass
    class Local:
        n: int

    def fn(ctx: Context, it: Local, later: list[Late] | None = None) -> None: ...

    handler = Handler.declare(fn)
    assert handler.load(json.loads(handler.bind(Local(1), [Late(2)])), 1) == {"it": Local(1), "later": [Late(2)]}


@dataclass
class Late:
    n: int


def test_names_that_do_not_exist_at_run_time() -> None:
    def fn(ctx: Context, it: Unknown) -> None: ...

    handler = Handler.declare(fn)
    with pytest.raises(ConfigError, match=r"annotation of 'it', 'Unknown', cannot be resolved .* TYPE_CHECKING"):
        handler.bind(1)


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
