"""What the runs of a lane hold of the permits that their types declare. The numbers that each call tells are absolute: a hold
lasts until its body has ended and its end is stored, and is told again with every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lanework._services.host import Host
    from lanework._services.run import Run
    from lanework._store.claims import Claimed

_BODY, _ROW = 1, 2


class Limits:
    """A lane without such types pays for a look into an empty dictionary."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._needs: dict[int, list[str]] = {}
        self._rates: dict[int, str] = {}
        #: Names that were told once: told again, should their type have left the lane.
        self._names: set[str] = set()
        #: (job, attempt) → its type, and what of it has not ended yet.
        self._open: dict[tuple[int, int], tuple[int, int]] = {}
        for type_id in host.versions():
            handler = host.handler(type_id)
            if handler.permits:
                self._needs[type_id] = sorted(host.permit_name(name) for name in handler.permits)
            if handler.rate is not None:
                self._rates[type_id] = handler.rate

    def has(self, type_id: int) -> bool:
        return type_id in self._needs

    def told(self, types: Collection[int], done: Iterable[Run]) -> dict[str, Any] | None:
        """For the next call of a lane with these types, which stores the finishes in `done`."""
        if not self._needs and not self._rates:
            return None
        needs = {type_id: names for type_id, names in self._needs.items() if type_id in types}
        rates = {type_id: name for type_id, name in self._rates.items() if type_id in types}
        self._names.update(name for names in needs.values() for name in names)
        if not self._names and not rates:
            return None
        ending = {(run.held.id, run.held.attempt) for run in done}
        held = Counter(dict.fromkeys(self._names, 0))
        for key, (type_id, parts) in self._open.items():
            if not (key in ending and parts == _ROW):
                held.update(self._needs[type_id])
        return {"types": needs, "held": dict(held), "rates": rates}

    def claimed(self, rows: Iterable[Claimed]) -> None:
        if self._needs:
            self._open.update({(row.id, row.attempt): (row.type_id, _BODY | _ROW) for row in rows if row.type_id in self._needs})

    def body_ended(self, run: Run) -> None:
        if self._open:
            self._end(run, _BODY)

    def stored(self, run: Run) -> None:
        if self._open:
            self._end(run, _ROW)

    def gone(self, run: Run) -> None:
        self._open.pop((run.held.id, run.held.attempt), None)

    def forget(self) -> None:
        """The rows are another worker's now; bodies that still run count until they have ended."""
        self._open = {key: (type_id, _BODY) for key, (type_id, parts) in self._open.items() if parts & _BODY}

    def _end(self, run: Run, part: int) -> None:
        key = (run.held.id, run.held.attempt)
        if key in self._open:
            type_id, parts = self._open[key]
            if parts & ~part:
                self._open[key] = (type_id, parts & ~part)
            else:
                del self._open[key]
