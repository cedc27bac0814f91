"""Records on stdout in the form that was asked for: a table for people, JSON, JSON lines or bare ids for programs."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

from lanework.cli.text import clip, is_terminal, pad, paint, safe, width

T = TypeVar("T")
FORMS = ("table", "json", "jsonl", "ids")
_GAP = "  "
#: What JSON leaves as it is and a terminal would act upon.
_LOUD = re.compile("[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


@dataclass(frozen=True)
class Column(Generic[T]):
    """`flexible` columns give way when the terminal is too narrow."""

    title: str
    value: Callable[[T], Any]
    right: bool = False
    flexible: bool = False
    colour: Callable[[T], str] | None = None


def add_output(parser: argparse.ArgumentParser, *, ids: bool = True) -> None:
    forms = FORMS if ids else FORMS[:-1]
    parser.add_argument("-o", "--output", choices=forms, default="table", help=f"{', '.join(forms)} (default: table)")
    parser.add_argument("--json", dest="output", action="store_const", const="json", help="the same as -o json")


def show(
    form: str, records: Sequence[T], columns: Sequence[Column[T]], *, id_of: Callable[[T], Any] | None = None,
    record: Callable[[T], Any] | None = None, none: str = "",
) -> None:  # fmt: skip
    """`record` makes what is printed as JSON; `none` is said, on stderr, where a table would be empty."""
    if form == "ids" and id_of is not None:
        write(*(str(id_of(one)) for one in records))
    elif form == "json":
        write(as_json([plain(record(one) if record else one) for one in records], indent=2))
    elif form == "jsonl":
        write(*(as_json(plain(record(one) if record else one)) for one in records))
    elif records:
        write(*table(records, columns))
    elif none:
        say(none)


def table(records: Iterable[T], columns: Sequence[Column[T]], *, most: int | None = None) -> list[str]:
    """Lines of a table. `most`: columns of the screen; on a terminal, its own; into a file nothing is cut."""
    most = most or (shutil.get_terminal_size().columns if is_terminal() else None)
    rows = [[_cell(column.value(one)) for column in columns] for one in records]
    colours = [[column.colour(one) if column.colour else "" for column in columns] for one in records]
    sizes = _sizes([[column.title for column in columns], *rows], columns, most)
    heads = [paint(part, "bold") for part in _line([column.title for column in columns], columns, sizes)]
    lines = [_GAP.join(heads)]
    for row, marks in zip(rows, colours, strict=True):
        parts = _line(row, columns, sizes)
        lines.append(_GAP.join(paint(part, mark) for part, mark in zip(parts, marks, strict=True)))
    return [line.rstrip() for line in lines]


def _line(row: Sequence[str], columns: Sequence[Column[Any]], sizes: Sequence[int]) -> list[str]:
    return [pad(clip(text, size), size, right=column.right) for text, column, size in zip(row, columns, sizes, strict=True)]


def _sizes(rows: Sequence[Sequence[str]], columns: Sequence[Column[Any]], most: int | None) -> list[int]:
    sizes = [max(width(row[n]) for row in rows) for n in range(len(columns))]
    if most is None:
        return sizes
    over = sum(sizes) + len(_GAP) * (len(sizes) - 1) - most
    flexible = [n for n, column in enumerate(columns) if column.flexible]
    while over > 0 and flexible:
        widest = max(flexible, key=lambda n: sizes[n])
        if sizes[widest] <= 6:
            break
        sizes[widest] -= 1
        over -= 1
    return sizes


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return safe(value if isinstance(value, str) else str(value))


def plain(value: Any) -> Any:
    """Records as JSON knows them: rows as objects, times in ISO form."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return value.isoformat() if isinstance(value, date) else value


def as_json(value: Any, indent: int | None = None) -> str:
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return _LOUD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def say(text: str) -> None:
    """Talk goes to stderr: stdout has data only."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")
