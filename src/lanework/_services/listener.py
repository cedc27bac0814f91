"""The process's one LISTEN connection. Hints only make things sooner: without it everything works by polling."""

from __future__ import annotations

from collections.abc import Callable

from lanework._services.service import Service
from lanework._store.hints import hear, listen
from lanework.config import Settings


class Listener(Service):
    name = "listener"

    def __init__(
        self,
        dsn: str,
        settings: Settings,
        connection_name: str,
        on_hint: Callable[[str], None],
        on_back: Callable[[], None],
    ) -> None:
        super().__init__()
        self._dsn, self._settings, self._name = dsn, settings, connection_name
        self._on_hint, self._on_back = on_hint, on_back
        self.listening = False

    async def run_once(self) -> float:
        conn = await listen(self._dsn, self._settings, self._name)
        if conn is None:
            self.health.last_error = "behind a pooler: polling only; set LANEWORK_DIRECT_DSN for hints"
            return 3600.0
        try:
            self.listening, self.health.state = True, "running"
            self._on_back()  # what was announced while nobody listened is found by looking
            await hear(conn, self._on_hint)
        finally:
            self.listening = False
            await conn.close()
        return 0.1
