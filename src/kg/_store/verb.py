"""The platform's statements: `queries/<name>.sql`, run by the engine's executors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

from lanework._store.verb import Row, Verb, nothing, rows, scalar

__all__ = ["Row", "Verb", "nothing", "rows", "scalar", "verb"]

T = TypeVar("T")


@cache
def query(name: str) -> bytes:
    return files(__package__).joinpath("queries", f"{name}.sql").read_bytes()


def verb(name: str, decode: Callable[[list[Row]], T], /, **params: Any) -> Verb[T]:
    return Verb(query(name), params, decode)
