"""What a verb that commits by itself has committed: it says so at once, and what goes wrong after that does not take it back."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any, Self

import psycopg
from psycopg.errors import Diagnostic

logger = logging.getLogger("lanework")
#: What the server says, with the id as detail (migration 0028).
SAID = "lanework.submitted"


class Committed:
    """Hears it on a connection. An error that comes later is a warning, and the answer is the one that was heard."""

    def __init__(self, conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
        self._conn = conn
        self._id: int | None = None

    @property
    def rows(self) -> list[tuple[int | None]]:
        return [(self._id,)]

    def __enter__(self) -> Self:
        self._conn.add_notice_handler(self._hear)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        self._conn.remove_notice_handler(self._hear)
        if self._id is None or not isinstance(error, psycopg.Error):
            return False
        logger.warning("job %d is stored, and nobody could be told; it starts with the next poll: %s", self._id, error)
        return True

    def _hear(self, notice: Diagnostic) -> None:
        if notice.message_primary == SAID:
            self._id = int(notice.message_detail or 0)
