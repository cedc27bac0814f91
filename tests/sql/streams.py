"""Events, told and read as a subscription reads them."""

from __future__ import annotations

import json

from psycopg.types.json import set_json_loads

from lanework._store.verb import run
from lanework.events import Event, Everywhere
from tests.sql.engine import Engine


class Reader:
    """A subscription as Python has it, on a connection of its own."""

    def __init__(self, engine: Engine, topics: list[str] | None = None) -> None:
        self.db = engine.db
        self.at = Everywhere.after("0-0", topics, None)

    def read(self) -> list[Event]:
        set_json_loads(lambda data: data, self.db)
        try:
            found: list[Event] = []
            more = True
            while more:
                page = self.at.take(run(self.db, self.at.verb()))
                found, more = [*found, *page.events], page.more
            return found
        finally:
            set_json_loads(json.loads, self.db)


def kinds(found: list[Event]) -> list[str]:
    return [event.kind for event in found]


def tell(engine: Engine, kind: str, topic: str = "mine") -> None:
    engine.rows("select lanework.tell(%s, %s)", topic, kind)
