"""How far a caller's permission reaches: over everything, over what is his own, over some ontologies."""

from __future__ import annotations

from dataclasses import dataclass

from kg.access.caller import Caller


@dataclass(frozen=True, slots=True)
class Reach:
    everything: bool = False
    owner: str | None = None
    ontologies: frozenset[str] = frozenset()

    @classmethod
    def of(cls, caller: object, permission: str) -> Reach:
        assert isinstance(caller, Caller)
        held = caller.grants.get(permission, set())
        return cls("all" in held, caller.name if "own" in held else None, frozenset(caller.ontologies(permission)))

    def covers(self, ontology: str, owner: str) -> bool:
        return self.everything or ontology in self.ontologies or (self.owner is not None and self.owner == owner)

    def may_make(self, ontology: str) -> bool:
        """What he makes is the caller's own."""
        return self.everything or self.owner is not None or ontology in self.ontologies


EVERYTHING = Reach(everything=True)
