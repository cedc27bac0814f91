"""What a check is given and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from lanework._store.status import ServerState
from lanework.config import Settings

OK, WARNING, ERROR = "ok", "warning", "error"


@dataclass(frozen=True)
class Finding:
    level: str
    check: str
    what: str
    remedy: str = ""


@dataclass(frozen=True)
class Patient:
    """`skew`: seconds by which the server's clock is ahead of ours, give or take `uncertainty`."""

    conn: psycopg.Connection[Any]
    settings: Settings
    server: ServerState
    skew: float
    uncertainty: float


Check = Callable[[Patient], Iterator[Finding]]
