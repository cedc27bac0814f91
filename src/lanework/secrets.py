"""Secrets that must not reach a log: registered by value, shown as `•••`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

MASK = "•••"
SHORTEST = 4


class Secrets:
    """`app.secrets.add(key)`: from now on that text is masked in logs, progress messages, errors and tracebacks of jobs."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._told: Callable[[list[str]], None] | None = None

    def add(self, *values: str) -> None:
        """Texts of at least four characters: shorter ones would mask ordinary words."""
        for value in values:
            if not isinstance(value, str) or len(value) < SHORTEST:
                raise ValueError(f"expected a secret of at least {SHORTEST} characters")
            self._known.add(value)
        if self._told is not None:
            self._told(list(values))
        longest_first = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def mask(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def mask_all(self, value: Any) -> Any:
        """Every text in a value that is to be stored as JSON."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, dict):
            return {self.mask(key) if isinstance(key, str) else key: self.mask_all(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.mask_all(one) for one in value]
        return value

    def share(self, tell: Callable[[list[str]], None]) -> None:
        """`tell` gets those that are known, and then each new one before `add` returns."""
        tell(sorted(self._known))
        self._told = tell

    def __repr__(self) -> str:
        return f"<Secrets {len(self._known)}>"
