"""How a change is shown: what each setting was, and what it is now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from lanework.cli.output import Column, say, show


class Change(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def changed(self) -> Mapping[str, tuple[Any, Any]]: ...


class Setting(NamedTuple):
    """One line of it."""

    name: str
    field: str
    was: Any
    now: Any


def plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def was_and_is(value: Callable[[Any], str] = plain) -> list[Column[Setting]]:
    return [
        Column("WAS", lambda it: value(it.was), flexible=True),
        Column("IS", lambda it: value(it.now), flexible=True),
    ]


def show_change(form: str, change: Change, columns: list[Column[Setting]], *, noun: str = "") -> None:
    """`noun` names what was changed, where its name alone does not say it."""
    settings = [Setting(change.name, field, *pair) for field, pair in change.changed.items()]
    if form == "table":
        show(form, settings, columns)
    else:
        changed = {one.field: {"was": one.was, "is": one.now} for one in settings}
        show(form, [change], [], id_of=lambda it: it.name, record=lambda it: {noun or "name": it.name, "changed": changed})
    if not settings:
        say(f"{noun} {change.name}: nothing changed, it was so already".lstrip())
