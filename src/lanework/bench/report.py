"""What a row found: lines with a figure, perhaps a ratio, perhaps a limit. Table and JSON are made from these alone."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

HEADLINES = (
    "drain_ratio_graphile",
    "submit_ratio_best",
    "pickup_p50_ms",
    "pickup_p99_ms",
    "backlog_ratio",
    "snapshot_ratio",
    "idle_queries_per_s",
    "connections",
)
COMPARE = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


@dataclass(frozen=True, slots=True)
class Limit:
    sign: str
    bound: float

    def holds(self, value: float) -> bool:
        return bool(COMPARE[self.sign](value, self.bound))

    def __str__(self) -> str:
        return f"{self.sign} {self.bound:g}"


@dataclass(frozen=True, slots=True)
class Line:
    """One figure under its JSON name. A limit is set on the ratio where there is one, else on the figure."""

    label: str
    key: str
    value: float | None
    unit: str = ""
    ratio: float | None = None
    ratio_key: str | None = None
    limit: Limit | None = None
    reason: str | None = None

    @property
    def judged(self) -> float | None:
        return self.ratio if self.ratio_key else self.value

    @property
    def verdict(self) -> str:
        if self.limit is None:
            return ""
        if self.judged is None:
            return "?"
        return "ok" if self.limit.holds(self.judged) else "MISSED"

    def figures(self) -> dict[str, float | None]:
        pairs = {self.key: self.value}
        if self.ratio_key:
            pairs[self.ratio_key] = self.ratio
        return {key: None if value is None else round(value, 3) for key, value in pairs.items()}


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    lines: list[Line] = field(default_factory=list)

    @classmethod
    def failed(cls, title: str, key: str, reason: str) -> Section:
        return cls(title, [Line("lanework", key, None, reason=reason)])


@dataclass(frozen=True, slots=True)
class Report:
    conditions: dict[str, str | int | float]
    sections: list[Section]

    @property
    def lines(self) -> list[Line]:
        return [line for section in self.sections for line in section.lines]

    @property
    def failed(self) -> bool:
        """True when a figure of ours is missing. A peer that could not be installed is no failure of ours."""
        return any(line.reason and line.label.startswith("lanework") for line in self.lines)

    def as_json(self) -> dict[str, object]:
        figures = {key: value for line in self.lines for key, value in line.figures().items()}
        judged = {line.ratio_key or line.key: line for line in self.lines if line.limit}
        return {
            **dict.fromkeys(HEADLINES),
            **figures,
            "limits": {key: str(line.limit) for key, line in judged.items()},
            "missed": [key for key, line in judged.items() if line.verdict == "MISSED"],
            "not_measured": {line.key: line.reason for line in self.lines if line.reason},
            "conditions": self.conditions,
        }


def ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None
