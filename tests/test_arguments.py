"""Checking and storing the arguments of a job type, and loading them again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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

from lanework.context import Context
from lanework.errors import ConfigError, InvalidJob
from lanework.handlers import Handler

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


def handler_of(annotation: Any) -> Handler:
    def fn(ctx: Context, it: Any) -> None: ...

    fn.__annotations__["it"] = annotation
    return Handler.declare(fn)


def round_trip(annotation: Any, value: Any) -> Any:
    handler = handler_of(annotation)
    return handler.load(json.loads(handler.bind(value)), 1)["it"]


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
