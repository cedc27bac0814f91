"""What models cost, with the date of the knowledge. What a file of one's own says comes first (`KG_PRICES`):

{"date": "2026-11-01", "models": {"name": [in, out]}}      USD for a million tokens
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kg.parts import Usage
from lanework.errors import ConfigError

DATE = "2026-10-01"
#: USD for a million tokens, in and out. A dated name (`…-2026-04-23`, `…-20251001`) has its model's price.
MODELS: dict[str, tuple[float, float]] = {
    "gpt-4o": (2.5, 10), "gpt-4o-mini": (0.15, 0.6),
    "gpt-4.1": (2, 8), "gpt-4.1-mini": (0.4, 1.6), "gpt-4.1-nano": (0.1, 0.4),
    "gpt-5": (1.25, 10), "gpt-5-mini": (0.25, 2), "gpt-5-nano": (0.05, 0.4),
    "gpt-5.1": (1.25, 10), "gpt-5.2": (1.75, 14),
    "gpt-5.4": (2.5, 15), "gpt-5.4-mini": (0.75, 4.5), "gpt-5.4-nano": (0.2, 1.25), "gpt-5.5": (5, 30),
    "text-embedding-3-small": (0.02, 0), "text-embedding-3-large": (0.13, 0), "text-embedding-ada-002": (0.1, 0),
    "claude-haiku-4-5": (1, 5), "claude-sonnet-4-5": (3, 15), "claude-sonnet-4-6": (3, 15),
    "claude-sonnet-5": (2, 10), "claude-sonnet-5-5": (2, 10),
    "claude-opus-4-5": (5, 25), "claude-opus-4-6": (5, 25), "claude-opus-4-7": (5, 25), "claude-opus-4-8": (5, 25),
    "claude-opus-5": (5, 25), "claude-opus-5-5": (4, 20),
}  # fmt: skip
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$")


@dataclass(frozen=True)
class Price:
    """Of one model. `date` is empty where nobody knows: then it counts as free, and `warning` says so."""

    model: str
    per_million_in: float = 0.0
    per_million_out: float = 0.0
    date: str = ""

    def of(self, tokens_in: int, tokens_out: int) -> Usage:
        cost = (tokens_in * self.per_million_in + tokens_out * self.per_million_out) / 1e6
        return Usage(tokens_in, tokens_out, cost)

    @property
    def warning(self) -> str | None:
        return None if self.date else f"the price of {self.model} is not known: it counts as 0 (KG_PRICES names a file with prices)"

    def __str__(self) -> str:
        if not self.date:
            return "unknown"
        return f"{self.per_million_in:g} USD in, {self.per_million_out:g} USD out per million tokens ({self.date})"


class Prices:
    def __init__(self, models: Mapping[str, tuple[float, float]] | None = None, date: str = "") -> None:
        self._own, self._date = dict(models or {}), date

    @classmethod
    def load(cls, path: str) -> Prices:
        """From the file, if one is named."""
        if not path:
            return cls()
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            return cls({str(name): _pair(pair) for name, pair in found["models"].items()}, str(found["date"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ConfigError(
                f'KG_PRICES: {path} cannot be used ({error}); expected {{"date": "2026-11-01", "models": {{"name": [in, out]}}}}, '
                "in USD for a million tokens"
            ) from error

    def of(self, model: str) -> Price:
        for name in (model, _DATED.sub("", model)):
            if name in self._own:
                return Price(model, *self._own[name], date=self._date)
            if name in MODELS:
                return Price(model, *MODELS[name], date=DATE)
        return Price(model)


def _pair(value: Any) -> tuple[float, float]:
    one, other = (float(part) for part in value)
    if not (0 <= one < math.inf and 0 <= other < math.inf):
        raise ValueError(f"expected two prices of 0 or more, got {value!r}")
    return one, other
