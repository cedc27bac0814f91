"""Who is asking: a user through one of his credentials."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from kg.access.permissions import SUBMIT_ONE

#: A type of jobs, and the name of an ontology, may have blanks.
_GRANT = re.compile(r"(.+?) (all|own|ontology:.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Caller:
    name: str
    credential: int
    kind: str
    grants: dict[str, set[str]] = field(default_factory=dict)

    def scope(self, permission: str) -> Literal["all", "own"] | None:
        found = self.grants.get(permission, set())
        if "all" in found:
            return "all"
        if found or (permission == "jobs:submit" and any(name.startswith(SUBMIT_ONE) for name in self.grants)):
            return "own"
        return None

    def may_submit(self, type: str) -> bool:
        return "jobs:submit" in self.grants or f"{SUBMIT_ONE}{type}" in self.grants

    def ontologies(self, permission: str) -> set[str]:
        """The ontologies that a permission is limited to; none: it is not limited by ontology."""
        return {scope.removeprefix("ontology:") for scope in self.grants.get(permission, ()) if scope.startswith("ontology:")}


def grants(rows: Iterable[str]) -> dict[str, set[str]]:
    """From rows `permission scope`."""
    found: dict[str, set[str]] = {}
    for row in rows:
        parts = _GRANT.fullmatch(row)
        assert parts is not None, row
        found.setdefault(parts[1], set()).add(parts[2])
    return found
