"""How the arguments of a submit become a payload, and a payload the arguments of a run. Compiled once per handler.

A payload is an object of the arguments that were given, by name and in the order of the signature. Defaults are not
stored: they are those of the code that runs the job.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter
from types import SimpleNamespace
from typing import Any

from lanework._annotations import UNCHECKED, Shape, annotation_text, hints_of, mismatch, shape_of
from lanework._codec import PAYLOAD_LIMIT, WRITERS, decode, encode, is_storable
from lanework._plain import show, type_name
from lanework.errors import ConfigError, InvalidJob

Writer = Callable[[Any], str]

_CONTEXT_NAMES = frozenset({"ctx", "_ctx", "context", "_context", "_"})


class Binding:
    def __init__(self, job: str, fn: Callable[..., Any]) -> None:
        self._job = job
        self._fn = inspect.unwrap(fn)
        parameters = list(_signature(job, fn).parameters.values())
        _check_context(job, parameters[0] if parameters else None)
        self._parameters = {each.name: each for each in parameters[1:]}
        for each in parameters[1:]:
            _check_parameter(job, each)
        self._open = next((each for each in parameters if each.kind is Parameter.VAR_KEYWORD), None)
        if self._open is not None:
            del self._parameters[self._open.name]
        self._names = tuple(self._parameters)
        self._required = frozenset(name for name, each in self._parameters.items() if each.default is Parameter.empty)
        self._positional = sum(each.kind is not Parameter.KEYWORD_ONLY for each in self._parameters.values())
        # So many first names, in their order, are enough: nothing required comes after them.
        self._enough = max((self._names.index(name) + 1 for name in self._required), default=0)
        self._shapes: dict[str, Shape] | None = None
        self._rest = UNCHECKED
        self._plan: tuple[tuple[str, dict[type, Writer]], ...] = ()
        self._locals = _namespace(self._fn)
        self._compile(strict=False)

    def must_fit(self, other: Binding, place: str) -> None:
        """Whatever is stored for this function can be given to the other one."""
        missing = [] if other._open else [name for name in self._names if name not in other._parameters]
        extra = [name for name in other._required if name not in self._required]
        if missing or extra or (self._open and not other._open):
            raise ConfigError(
                f"job {self._job!r}: its estimator takes the same arguments ({', '.join(self._names) or 'none'}), "
                f"not ({', '.join(other._names) or 'none'}) ({place})"
            )

    # Submit

    def encode(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        text = self._quick(args, kwargs)
        return encode(self.arguments(args, kwargs), field="", limit=PAYLOAD_LIMIT) if text is None else text

    def _quick(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str | None:
        """The common call: scalars of exactly the declared types, in the order of the signature. None: another call."""
        values = args
        if kwargs:
            if tuple(kwargs) != self._names[len(args) : len(args) + len(kwargs)]:
                return None
            values = (*args, *kwargs.values())
        if not self._enough <= len(values) <= len(self._plan) or len(args) > self._positional:
            return None
        try:
            parts = [head + by[type(value)](value) for (head, by), value in zip(self._plan, values, strict=False)]
        except (KeyError, ValueError):
            return None
        text = "{" + ",".join(parts) + "}"
        return text if is_storable(text, PAYLOAD_LIMIT) else None

    def encode_many(self, items: Iterable[tuple[Any, ...] | Mapping[str, Any]]) -> Iterator[str]:
        """Each item is a tuple of positional or a mapping of named arguments."""
        place = 0
        try:
            for place, item in enumerate(items):  # noqa: B007 - the place is for the message
                yield self.encode(*self._split(item))
        except InvalidJob as problem:
            raise InvalidJob(f"items[{place}]: {problem}", field=problem.field) from None

    def encode_json(self, payload: Mapping[str, Any]) -> str:
        """For arguments that are JSON already: they are loaded, as a run would, only to see that they can be."""
        text = encode(payload, field="", limit=PAYLOAD_LIMIT)
        self.load(decode(text))
        return text

    def arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The given arguments by name, their types checked."""
        given = self._named(args, kwargs)
        shapes = self._shapes
        if shapes is None:
            shapes = self._compile(strict=True)
        try:
            for name, value in given.items():
                shape = shapes.get(name, self._rest)
                if type(value) not in shape.exact and not shape.accepts(value):
                    raise self._wrong(name, mismatch(shape.text, value))
        except RecursionError:
            raise InvalidJob(f"job {self._job!r}: the arguments are nested too deep", field="payload") from None
        return given

    def _split(self, item: Any) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        if isinstance(item, tuple):
            return item, {}
        if isinstance(item, Mapping):
            return (), item
        raise InvalidJob(
            f"expected a tuple of arguments or a dict of named ones, got {show(item)} ({type_name(type(item))})",
            field="items",
        )

    def _named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What Python does at a call, with errors that name the parameter."""
        if len(args) > self._positional:
            raise InvalidJob(f"job {self._job!r} takes {self._positional} positional arguments, got {len(args)}", field="args")
        given = dict(zip(self._names, args, strict=False))
        for name in kwargs:
            self._check_name(name, twice=name in given)
        given.update(kwargs)
        self._check_complete(given)
        return {name: given[name] for name in (*self._names, *kwargs) if name in given}

    def _check_name(self, name: Any, *, twice: bool = False) -> None:
        if twice:
            raise InvalidJob(f"job {self._job!r} got two values for {name!r}", field=name)
        if name not in self._parameters and self._open is None:
            known = ", ".join(self._names) or "none"
            raise InvalidJob(f"job {self._job!r} has no argument {show(name)}; it takes: {known}", field=str(name))

    def _check_complete(self, given: Mapping[str, Any]) -> None:
        for name in self._names:
            if name in self._required and name not in given:
                raise InvalidJob(f"job {self._job!r} needs the argument {name!r}", field=name)

    def _wrong(self, name: str, problem: Exception) -> InvalidJob:
        return InvalidJob(f"job {self._job!r}, argument {name!r}: {problem}", field=name)

    # Run

    def load(self, payload: Any) -> dict[str, Any]:
        """The keyword arguments of a run. Payloads from plain SQL were never checked, so this checks too."""
        if not isinstance(payload, dict):
            raise InvalidJob(f"job {self._job!r}: {mismatch('an object of arguments', payload)}", field="payload")
        shapes = self._shapes
        if shapes is None:
            shapes = self._compile(strict=True)
        found = {}
        for name, value in payload.items():
            shape = shapes.get(name)
            if shape is None:
                self._check_name(name)
                shape = self._rest
            found[name] = value if type(value) in shape.as_is else self._loaded(name, shape, value)
        if not self._required <= found.keys():
            self._check_complete(found)
        return found

    def _loaded(self, name: str, shape: Shape, value: Any) -> Any:
        try:
            return shape.load(value)
        except (ValueError, RecursionError) as problem:
            raise self._wrong(name, problem) from None

    # Compiling

    def _compile(self, *, strict: bool) -> dict[str, Shape]:
        """Names in annotations may be defined later in the module: what is not found at first is looked for again."""
        shapes: dict[str, Shape] = {}
        for each in (*self._parameters.values(), *([self._open] if self._open else [])):
            try:
                shapes[each.name] = self._shape(each)
            except NameError as problem:
                if strict:
                    raise _unresolved(self._job, each, problem) from None
                return shapes
        if self._open is not None:
            self._rest = shapes.pop(self._open.name)
        self._shapes = shapes
        self._plan = tuple((f'"{name}":', _writers(shape)) for name, shape in shapes.items())
        self._locals = {}
        return shapes

    def _shape(self, parameter: Parameter) -> Shape:
        if parameter.annotation is Parameter.empty:
            return UNCHECKED
        names = getattr(self._fn, "__globals__", {})
        carrier = SimpleNamespace(__annotations__={"it": parameter.annotation}, __globals__=names)
        return shape_of(hints_of(carrier, self._locals)["it"])


def _writers(shape: Shape) -> dict[type, Writer]:
    return {kind: WRITERS[kind] for kind in shape.exact if kind in WRITERS}


def _signature(job: str, fn: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(fn)
    except (TypeError, ValueError):
        raise ConfigError(f"job {job!r}: {show(fn)} is not a function that can be inspected") from None


def _check_context(job: str, first: Parameter | None) -> None:
    found = "it has no parameters" if first is None else f"its first parameter is `{first}`"
    positional = first is not None and first.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    if first is None or not positional or not (first.name in _CONTEXT_NAMES or _is_context(first.annotation)):
        raise ConfigError(f"job {job!r}: a handler's first parameter is its context, as in `def {job}(ctx: Context, …)`; {found}")


def _is_context(annotation: Any) -> bool:
    return annotation_text(annotation).strip("'\"").rpartition(".")[2] == "Context"


def _check_parameter(job: str, parameter: Parameter) -> None:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        raise ConfigError(f"job {job!r}: `*{parameter.name}` has no names to store; take a list instead")
    if parameter.kind is Parameter.POSITIONAL_ONLY:
        raise ConfigError(f"job {job!r}: `{parameter.name}` is positional-only, but arguments are stored by name; only ctx may be")


def _unresolved(job: str, parameter: Parameter, problem: NameError) -> ConfigError:
    return ConfigError(
        f"job {job!r}: the annotation of {parameter.name!r}, {parameter.annotation!r}, cannot be resolved ({problem}): "
        "import what it names at run time, not only under TYPE_CHECKING, or annotate Any"
    )


def _namespace(fn: Any) -> dict[str, Any]:
    """The names around a handler that is declared inside a function, for annotations that are text."""
    if not any(isinstance(each, str) for each in getattr(fn, "__annotations__", {}).values()):
        return {}
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "lanework":
        frame = frame.f_back
    return dict(frame.f_locals) if frame.f_code.co_name != "<module>" else {}
