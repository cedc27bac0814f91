"""Whatever the encoder lets through, PostgreSQL stores and gives back; whatever it refuses, it names."""

from __future__ import annotations

import json
import math
import sys
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lanework import _codec
from lanework._codec import PAYLOAD_LIMIT, RESULT_LIMIT, clean_text, decode, encode
from lanework._plain import MAX_DEPTH
from lanework.errors import InvalidJob, InvalidResult


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


@dataclass
class Point:
    x: int
    y: float = 0.5
    children: list[Point] = field(default_factory=list)


class Order(pydantic.BaseModel):
    id: UUID
    at: datetime
    items: dict[int, str] = {}


def enc(value: Any, *, field: str = "payload", limit: int = PAYLOAD_LIMIT) -> str:
    return encode(value, field=field, limit=limit)


def refused(value: Any, *, field: str = "payload", limit: int = PAYLOAD_LIMIT) -> InvalidJob:
    with pytest.raises(InvalidJob) as caught:
        encode(value, field=field, limit=limit)
    return caught.value


def nested(depth: int, leaf: Any = None) -> Any:
    value: Any = leaf
    for _ in range(depth):
        value = [value]
    return value


# What is stored


def test_plain_values_are_compact_json() -> None:
    assert enc({"a": [1, 2.5, True, None, "é"], "b": {"c": ()}}) == '{"a":[1,2.5,true,null,"é"],"b":{"c":[]}}'


@pytest.mark.parametrize("value", [None, True, 0, -1, 1.5, "", "text", [], {}, "\\u0000", "a\\\\u0000", "\x01\t\n\x7f"])
def test_any_json_value_stands_alone(value: Any) -> None:
    assert json.loads(enc(value)) == value


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), "2026-01-02T03:04:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1), 60.0),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.10"), "1.10"),
        (Decimal("1e400000"), "1E+400000"),
        (Path("/tmp/x"), "/tmp/x"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Point(1, children=[Point(2)]), {"x": 1, "y": 0.5, "children": [{"x": 2, "y": 0.5, "children": []}]}),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, {"a": 1}), {"a": 1}),
        ({Word.YES: 1}, {"yes": 1}),
    ],
)
def test_known_types_have_a_form(value: Any, stored: Any) -> None:
    assert json.loads(enc({"it": [value]})) == {"it": [stored]}


def test_pydantic_models_write_themselves() -> None:
    order = Order(id=UUID(int=1), at=datetime(2026, 1, 1, tzinfo=UTC), items={1: "a"})
    assert json.loads(enc(order)) == json.loads(order.model_dump_json())


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = [1]
    assert enc({"a": shared, "b": shared, "c": Point(1)}) == '{"a":[1],"b":[1],"c":{"x":1,"y":0.5,"children":[]}}'


def test_text_for_copy_has_no_raw_control_characters() -> None:
    assert not any(ord(each) < 32 for each in enc({"a": "".join(map(chr, range(1, 32)))}))


def test_without_the_c_encoder_the_text_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = enc({"a": [1, "é", {}]})
    monkeypatch.setattr("json.encoder.c_make_encoder", lambda: None)
    monkeypatch.setattr(_codec, "_chunks", _codec._make_chunks())
    assert enc({"a": [1, "é", {}]}) == fast


# What is refused


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"items": [0, 1, 2, {"name": "a\0b"}]}, "payload.items[3].name has a NUL character at position 1"),
        ({"a\0": 1}, "payload['a\\x00'] has a NUL character"),
        ({"t": "x\ud800"}, r"payload.t has a lone surrogate (\ud800) at position 1"),
        ({"n": math.nan}, "payload.n is nan"),
        ({"n": [-math.inf]}, "payload.n[0] is -inf"),
        ({"n": 10**5000}, "payload.n has more than 4,300 digits"),
        ({"o": {1: 2}}, "payload.o has the key 1 (int): keys are text in JSON, use str(key)"),
        ({"o": {None: 2}}, "payload.o has the key None (NoneType)"),
        ({"s": {1, 2}}, "payload.s is a set, which cannot be stored as JSON: use a list"),
        ({"b": b"x"}, "payload.b is a bytes, which cannot be stored as JSON: give base64 text"),
        ({"f": [len]}, "payload.f[0] is a builtin_function_or_method"),
        ({"c": Point}, "payload.c is a type"),
        ({"p": Point(1, math.nan)}, "payload.p.y is nan"),
        ({"p": Path("\ud800")}, "payload.p has a lone surrogate"),
        ({"a b": {"c d": object()}}, "payload['a b']['c d'] is a object"),
    ],
)
def test_the_message_names_the_place(value: Any, says: str) -> None:
    error = refused(value)
    assert says in str(error)
    assert error.field == "payload"


def test_without_a_field_the_top_level_keys_are_the_fields() -> None:
    error = refused({"url": ["\0"]}, field="")
    assert error.field == "url"
    assert str(error).startswith("url[0] has a NUL character")


def test_other_errors_can_be_raised() -> None:
    with pytest.raises(InvalidResult, match=r"^result\.a is nan"):
        encode({"a": math.nan}, field="result", limit=RESULT_LIMIT, error=InvalidResult)


def test_size_is_counted_in_bytes() -> None:
    assert len(enc("x" * (PAYLOAD_LIMIT - 2))) == PAYLOAD_LIMIT
    assert "is 262,145 bytes, the limit is 262,144 bytes" in str(refused("x" * (PAYLOAD_LIMIT - 1)))
    assert len(enc("é" * (PAYLOAD_LIMIT // 2 - 1)).encode()) == PAYLOAD_LIMIT
    assert "is 262,146 bytes" in str(refused("é" * (PAYLOAD_LIMIT // 2)))


@pytest.mark.parametrize("leaf", [1, Decimal(1)])
def test_depth_is_bounded_alike_for_plain_and_other_values(leaf: Any) -> None:
    assert json.loads(enc(nested(MAX_DEPTH, leaf)))
    assert "nested deeper than 100 levels" in str(refused(nested(MAX_DEPTH + 1, leaf)))
    assert "nested deeper than 100 levels" in str(refused({"a": nested(10_000, leaf)}))


def test_a_nearly_used_up_stack_gives_the_same_error() -> None:
    def below(frames: int) -> InvalidJob:
        return below(frames - 1) if frames else refused({"a": nested(90, Decimal(1))})

    with ThreadPoolExecutor(1) as thread:  # a stack of its own, so that its depth is known
        error = thread.submit(below, sys.getrecursionlimit() - 100).result()
    assert "nested too deep for what is left of the stack" in str(error)


def test_cycles_and_shared_branches_end() -> None:
    cycle: list[Any] = []
    cycle += [cycle, cycle]
    assert "payload.a[0] contains itself" in str(refused({"a": cycle}))
    point = Point(1)
    point.children.append(point)
    assert "contains itself" in str(refused(point))
    tree: Any = []
    for _ in range(60):
        tree = [tree, tree]
    assert "has more than 131,072 elements" in str(refused(tree))


def test_numbers_that_only_postgresql_refuses() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert "more than 131,072 digits" in str(refused({"n": 10**131_073}))
        assert enc({"n": 10**131_000})
    finally:
        sys.set_int_max_str_digits(before)


def test_a_model_that_cannot_be_written() -> None:
    class Anything(pydantic.BaseModel):
        it: Any

    assert "payload.m cannot be written as JSON by pydantic" in str(refused({"m": Anything(it=object())}))


# Text and reading


@pytest.mark.parametrize(
    ("text", "limit", "clean"),
    [
        ("plain", 10, "plain"),
        ("a\0b", 10, "a\\x00b"),
        ("a\udc80b", 10, "a\\udc80b"),
        ("é" * 5, 10, "é" * 5),
        ("é" * 40, 50, "é" * 9 + "… (cut, 40 characters in all)"),
        ("é" * 40, 5, "éé"),
        ("", 0, ""),
    ],
)
def test_clean_text(text: str, limit: int, clean: str) -> None:
    assert clean_text(text, limit) == clean


@given(st.text(st.characters(), max_size=200), st.integers(0, 100))
def test_clean_text_is_always_storable(text: str, limit: int) -> None:
    clean = clean_text(text, limit)
    assert "\0" not in clean
    assert len(clean.encode()) <= limit


def test_decode() -> None:
    assert decode(b'{"a": 1}') == decode('{"a": 1}') == decode(' {"a": 1}\n') == {"a": 1}
    for bad in ("[" * 100_000 + "]" * 100_000, "nothing", b"\xff"):
        with pytest.raises(InvalidJob, match="payload: the stored JSON cannot be read") as caught:
            decode(bad, field="payload")
        assert caught.value.field == "payload"


# Against PostgreSQL

anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**300, 10**4400)
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from(["\0", "\ud800", "\\u0000", "\\\\u0000", "\x7f", "\u2028", '"', "\\", Decimal("1e400000")]),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(st.characters()) | st.integers(), inner),
    max_leaves=20,
)


@given(anything)
def test_what_is_encoded_is_read_back(value: Any) -> None:
    try:
        text = enc(value)
    except InvalidJob:
        return
    assert text == enc(json.loads(text))
    text.encode()


def test_postgresql_stores_whatever_is_encoded(empty_database: str) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:

        @settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
        @given(anything)
        def stores(value: Any) -> None:
            try:
                text = enc(value)
            except InvalidJob:
                return
            row = connection.execute("select %s::jsonb::text", [text]).fetchone()
            assert row is not None
            # jsonb writes 1e20 without its exponent: the same number, but an int to Python.
            assert json.loads(row[0], parse_int=float) == json.loads(text, parse_int=float)

        stores()
        for edge in (nested(MAX_DEPTH), 10**4299, 5e-324, 1.7976931348623157e308, "x" * (PAYLOAD_LIMIT - 2)):
            connection.execute("select %s::jsonb", [enc(edge)])


def test_postgresql_refuses_what_is_refused_here(empty_database: str) -> None:
    """The other direction: these checks are needed."""
    with psycopg.connect(empty_database, autocommit=True) as connection:
        for text in (r'"\u0000"', r'"\ud800"', "1e400000", "9" * 131_073, "NaN"):
            with pytest.raises(psycopg.Error):
                connection.execute("select %s::jsonb", [text])
