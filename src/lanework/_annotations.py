"""Annotations compiled into `Shape`s: what a parameter takes at submit, and what its JSON becomes at the run.

Known: None, bool, int, float, str, unions, Literal, list, tuple, dict and their abstract forms, TypedDict, Enum, date,
time, datetime, timedelta, UUID, Decimal, Path, NewType, Annotated, dataclasses, pydantic models. Anything else is not
checked, and stays the JSON it was stored as. A bool is no int; an int is a float. In a union the first member that fits
takes the value.
"""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import cache, partial
from pathlib import Path, PurePath
from typing import Any
from uuid import UUID

from lanework._codec import RESULT_LIMIT, encode
from lanework._plain import is_model, show, type_name

Kinds = frozenset[type]
NoneType = type(None)


@dataclass(frozen=True, slots=True)
class Shape:
    """`exact` and `as_is` are types that need no further look: at submit, and when loaded. `load` raises ValueError."""

    text: str
    accepts: Callable[[Any], bool]
    load: Callable[[Any], Any]
    exact: Kinds = frozenset()
    as_is: Kinds = frozenset()
    converts: bool = True


def fits(shape: Shape, value: Any) -> bool:
    return type(value) in shape.exact or shape.accepts(value)


def loaded(shape: Shape, value: Any) -> Any:
    return value if type(value) in shape.as_is else shape.load(value)


def mismatch(text: str, value: Any) -> ValueError:
    return ValueError(f"expected {text}, got {show(value)} ({type_name(type(value))})")


def shape_of(annotation: Any) -> Shape:  # noqa: PLR0911 - one line per kind
    """The shape of one annotation, which must be resolved: no text."""
    if annotation is None:
        annotation = NoneType
    if isinstance(annotation, typing.NewType):
        return shape_of(annotation.__supertype__)
    if type(annotation).__name__ == "TypeAliasType":  # `type X = …`, from 3.12 on
        return shape_of(annotation.__value__)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated or origin in (typing.Required, typing.NotRequired):
        return shape_of(args[0])
    if origin in (typing.Union, types.UnionType):
        return _union([shape_of(arg) for arg in args])
    if origin is typing.Literal:
        return _literal(annotation_text(annotation), args)
    build = _GENERIC.get(origin or annotation) if _hashable(annotation) else None
    if build is not None:
        return build(annotation_text(annotation), args)
    kind = origin or annotation
    return _of_class(kind) if isinstance(kind, type) else UNCHECKED


def annotation_text(annotation: Any) -> str:
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return "None" if annotation is NoneType else annotation.__qualname__
    return str(annotation).replace("typing.", "").replace("collections.abc.", "")


def hints_of(thing: Any, namespace: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return typing.get_type_hints(thing, localns=dict(namespace or {}), include_extras=True)


def _hashable(annotation: Any) -> bool:
    return getattr(type(annotation), "__hash__", None) is not None


def _of_class(kind: type) -> Shape:  # noqa: PLR0911 - one line per kind
    if kind in _ATOMS:
        return _ATOMS[kind]
    if is_model(kind):
        return Shape(kind.__qualname__, lambda value: isinstance(value, kind), partial(_load_model, kind))
    if typing.is_typeddict(kind):
        return Shape(kind.__qualname__, partial(_is_typed_dict, kind), partial(_load_typed_dict, kind))
    if is_dataclass(kind):
        return Shape(kind.__qualname__, partial(_is_record, kind), partial(_load_record, kind))
    if issubclass(kind, Enum):
        return Shape(kind.__qualname__, lambda value: isinstance(value, kind), kind)
    if issubclass(kind, PurePath):
        return _from_text(kind, PurePath)
    return UNCHECKED


# Atoms


def _same(kind: type, text: str = "") -> Shape:
    """JSON has this type itself."""
    text = text or kind.__name__

    def accepts(value: Any) -> bool:
        return isinstance(value, kind) and not isinstance(value, bool)  # subclasses: a StrEnum is text, an IntEnum an int

    def load(value: Any) -> Any:
        raise mismatch(text, value)  # what fits is in `as_is`, and never comes here

    return Shape(text, accepts, load, frozenset({kind}), frozenset({kind}), converts=False)


def _from_text(kind: type, accepts: type | None = None, parse: Callable[[str], Any] | None = None) -> Shape:
    def load(value: Any) -> Any:
        if type(value) is not str:
            raise mismatch(kind.__qualname__, value)
        try:
            return (parse or kind)(value)
        except (ValueError, InvalidOperation):
            raise mismatch(kind.__qualname__, value) from None

    # A datetime is a date to Python, but not to a handler that asked for a day.
    known = (lambda value: type(value) is date) if kind is date else lambda value: isinstance(value, accepts or kind)
    return Shape(kind.__qualname__, known, load, frozenset({kind}))


def _is_float(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _load_float(value: Any) -> float:
    """PostgreSQL gives 1e20 back as 100000000000000000000, which JSON reads as an int."""
    if type(value) is not int:
        raise mismatch("float", value)
    try:
        return float(value)
    except OverflowError:
        raise mismatch("float", value) from None


def _load_seconds(value: Any) -> timedelta:
    if type(value) not in (int, float):
        raise mismatch("timedelta (as seconds)", value)
    try:
        return timedelta(seconds=value)
    except OverflowError:
        raise mismatch("timedelta (as seconds)", value) from None


_SCALARS: Kinds = frozenset({str, int, float, bool, NoneType})
UNCHECKED = Shape("anything", lambda _: True, lambda value: value, _SCALARS, _SCALARS.union([dict, list]), converts=False)

_ATOMS: dict[type, Shape] = {
    NoneType: _same(NoneType, "None"),
    bool: _same(bool),
    int: _same(int),
    str: _same(str),
    float: Shape("float", _is_float, _load_float, frozenset({float, int}), frozenset({float})),
    datetime: _from_text(datetime, parse=datetime.fromisoformat),
    date: _from_text(date, parse=date.fromisoformat),
    time: _from_text(time, parse=time.fromisoformat),
    timedelta: Shape("timedelta", lambda value: isinstance(value, timedelta), _load_seconds),
    UUID: _from_text(UUID),
    Decimal: _from_text(Decimal),
    Path: _from_text(Path, PurePath),
}


# Unions and containers


def _union(members: list[Shape]) -> Shape:
    def load(value: Any) -> Any:
        for member in members:
            try:
                return loaded(member, value)
            except ValueError:
                continue
        raise mismatch(text, value)

    text = " | ".join(member.text for member in members)
    if UNCHECKED in members:
        return UNCHECKED
    exact = frozenset(kind for member in members for kind in member.exact)
    return Shape(text, lambda value: any(fits(member, value) for member in members), load, exact, _union_as_is(members))


def _union_as_is(members: list[Shape]) -> Kinds:
    """A member that converts may take what a later one would leave alone; None is nobody's but its own."""
    found: set[type] = set()
    converting = False
    for member in members:
        found |= member.as_is & {NoneType} if converting else member.as_is
        converting = converting or member.converts
    return frozenset(found)


def _literal(text: str, options: tuple[Any, ...]) -> Shape:
    def load(value: Any) -> Any:
        for option in options:
            stored = option.value if isinstance(option, Enum) else option
            if type(stored) is type(value) and stored == value:
                return option
        raise mismatch(text, value)

    return Shape(text, lambda value: any(type(value) is type(each) and value == each for each in options), load)


def _sequence(kinds: Any, text: str, args: tuple[Any, ...]) -> Shape:
    item = shape_of(args[0]) if args else UNCHECKED

    def load(value: Any) -> Any:
        if not isinstance(value, list):
            raise mismatch(text, value)
        return [loaded(item, each) for each in value]

    return Shape(text, lambda value: isinstance(value, kinds) and all(fits(item, each) for each in value), load)


def _tuple(text: str, args: tuple[Any, ...]) -> Shape:
    if not args or args[-1] is Ellipsis:
        some = _sequence((tuple,), text, args)
        return Shape(text, some.accepts, lambda value: tuple(some.load(value)))
    items = [shape_of(arg) for arg in args]

    def accepts(value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == len(items) and all(map(fits, items, value))

    def load(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            raise mismatch(text, value)
        return tuple(map(loaded, items, value))

    return Shape(text, accepts, load)


def _mapping(text: str, args: tuple[Any, ...]) -> Shape:
    item = shape_of(args[1]) if len(args) == 2 else UNCHECKED

    def load(value: Any) -> Any:
        if not isinstance(value, dict):
            raise mismatch(text, value)
        return {key: loaded(item, each) for key, each in value.items()}

    return Shape(text, lambda value: isinstance(value, Mapping) and all(fits(item, v) for v in value.values()), load)


_GENERIC: dict[Any, Callable[[str, tuple[Any, ...]], Shape]] = {
    list: partial(_sequence, (list,)),
    collections.abc.Sequence: partial(_sequence, (list, tuple)),
    collections.abc.Iterable: partial(_sequence, (list, tuple)),
    collections.abc.Collection: partial(_sequence, (list, tuple)),
    tuple: _tuple,
    dict: _mapping,
    collections.abc.Mapping: _mapping,
    collections.abc.MutableMapping: _mapping,
}


# Records. Their fields are compiled at first use, so that a record may contain itself.


def _hints(kind: type) -> dict[str, Any]:
    try:
        return hints_of(kind)
    except NameError:  # a class inside a function, out of reach: its fields are not checked
        return {}


@cache
def _fields(kind: type) -> dict[str, Shape]:
    hints = _hints(kind)
    names = [each.name for each in fields(kind) if each.init] if is_dataclass(kind) else list(kind.__annotations__)
    return {name: shape_of(hints.get(name, Any)) for name in names}


def _load_fields(kind: type, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise mismatch(kind.__qualname__, value)
    known = _fields(kind)
    return {name: loaded(known.get(name, UNCHECKED), each) for name, each in value.items()}


def _is_record(kind: type, value: Any) -> bool:
    return isinstance(value, kind) and all(fits(shape, getattr(value, name)) for name, shape in _fields(kind).items())


def _load_record(kind: type, value: Any) -> Any:
    computed = {each.name for each in fields(kind) if not each.init}
    try:
        return kind(**{name: each for name, each in _load_fields(kind, value).items() if name not in computed})
    except TypeError as problem:  # missing and unknown fields
        raise ValueError(f"expected {kind.__qualname__}: {problem}") from None


@cache
def _required(kind: Any) -> frozenset[str]:
    """`__required_keys__` does not see a NotRequired in annotations that are text."""
    optional = {name for name, hint in _hints(kind).items() if typing.get_origin(hint) is typing.NotRequired}
    return frozenset(kind.__required_keys__ - optional)


def _is_typed_dict(kind: Any, value: Any) -> bool:
    known = _fields(kind)
    return (
        isinstance(value, dict)
        and _required(kind) <= value.keys() <= known.keys()
        and all(fits(known[name], each) for name, each in value.items())
    )


def _load_typed_dict(kind: Any, value: Any) -> Any:
    found = _load_fields(kind, value)
    if not _required(kind) <= found.keys() <= _fields(kind).keys():
        raise mismatch(f"{kind.__qualname__} with the keys {', '.join(_fields(kind))}", value)
    return found


def _load_model(kind: Any, value: Any) -> Any:
    """By JSON, so that strict models read their own output; by name, because that is how the encoder writes."""
    version = tuple(map(int, sys.modules["pydantic"].VERSION.split(".")[:2]))
    naming = {"by_alias": True, "by_name": True} if version >= (2, 11) else {}
    return kind.model_validate_json(encode(value, field="value", limit=RESULT_LIMIT), **naming)
