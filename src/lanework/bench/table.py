"""The report as text, 100 columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from lanework.bench.report import Line, Report, Section

WIDTH = 100
LABEL, FIGURE, RATIO, LIMIT = 46, 20, 12, 10


def render(report: Report) -> str:
    return "\n".join([*header(report), *(text for section in report.sections for text in block(section)), ""])


def header(report: Report) -> list[str]:
    facts = " · ".join(f"{name.replace('_', ' ')} {value}" for name, value in report.conditions.items())
    return textwrap.wrap(f"lanework bench · {facts}", WIDTH)


def block(section: Section) -> Iterator[str]:
    yield ""
    yield section.title
    yield "─" * WIDTH
    for line in section.lines:
        yield row(line)


def row(line: Line) -> str:
    label = f"  {line.label}".ljust(LABEL)
    if line.reason:
        return "  " + textwrap.shorten(f"{line.label}: not measured: {line.reason}", WIDTH - 2, placeholder=" …")
    ratio = "" if line.ratio is None else f"{line.ratio:.2f} ×"
    cells = [figure(line).rjust(FIGURE), ratio.rjust(RATIO), (str(line.limit or "")).rjust(LIMIT), "  " + line.verdict]
    return (label + "".join(cells)).rstrip()


def figure(line: Line) -> str:
    if line.value is None:
        return "–"
    digits = 0 if abs(line.value) >= 1000 else 1 if abs(line.value) >= 100 else 2
    text = f"{line.value:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {line.unit}".rstrip()
