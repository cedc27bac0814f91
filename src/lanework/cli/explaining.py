"""How an explanation is shown: the reason in one line, and below it who, until when, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lanework.cli.commands.jobs.columns import moment
from lanework.cli.output import show, write
from lanework.cli.text import paint, safe
from lanework.explanations import Brake, Explanation

T = TypeVar("T", Explanation, Brake)
_FINE = ("running", "completed", "open", "empty", "next")


def show_all(form: str, found: Sequence[T], title: Callable[[T], str], id_of: Callable[[T], Any]) -> None:
    if form != "table":
        show(form, found, [], id_of=id_of)
        return
    for one in found:
        write(*lines(one, title(one)))


def lines(one: Explanation | Brake, title: str) -> list[str]:
    colour = "" if one.reason in _FINE else "yellow"
    drawn = [f"{paint(safe(title), 'bold')}: {paint(one.reason, colour)}", f"  {safe(one.text)}"]
    if one.until is not None:
        drawn.append(f"  until {moment(one.until)}")
    if one.remedy:
        drawn.append(f"  → {safe(one.remedy)}")
    return drawn
