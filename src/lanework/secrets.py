"""Secrets that must not reach a log: registered by value, shown as `•••`."""

from __future__ import annotations

import re

MASK = "•••"
SHORTEST = 4


class Secrets:
    """`app.secrets.add(key)`: from now on that text is masked in logs, progress messages, errors and tracebacks of jobs."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, *values: str) -> None:
        """Texts of at least four characters: shorter ones would mask ordinary words."""
        for value in values:
            if not isinstance(value, str) or len(value) < SHORTEST:
                raise ValueError(f"expected a secret of at least {SHORTEST} characters")
            self._known.add(value)
        longest_first = sorted(self._known, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    def mask(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(MASK, text)

    def __repr__(self) -> str:
        return f"<Secrets {len(self._known)}>"
