"""Bugs to plant in the processes of a test: each one must turn the test that it belongs to red, see `test_would_notice.py`.

The harness names them in LANEWORK_TEST_PLANT; `early/sitecustomize.py` plants them in every process: guard, worker, child.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

PLANTS: dict[str, Callable[[], None]] = {}


def a_plant(function: Callable[[], None]) -> Callable[[], None]:
    PLANTS[function.__name__] = function
    return function


def plant(names: str) -> None:
    for module in ("tuning", "guards", "workers"):
        import_module(f"{__name__}.{module}")
    for name in filter(None, names.split(",")):
        PLANTS[name]()


def get(place: str) -> Any:
    """`lanework.worker:Worker` or `lanework._guard.guard`."""
    module, _, name = place.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


def put(place: str, name: str, value: Any) -> Any:
    """Replaces an attribute of a module or class; answers what was there."""
    holder = get(place)
    before = getattr(holder, name, None)
    setattr(holder, name, value)
    return before
