"""The doctor's examination: each check looks at one thing and says what it found and what to do."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psycopg

from lanework._store import status
from lanework._store.connect import connect
from lanework._store.verb import run
from lanework.config import Settings

if TYPE_CHECKING:
    from lanework.client import Lanework
from lanework.diagnosis import engine, server
from lanework.diagnosis.finding import ERROR, OK, WARNING, Finding, Patient

__all__ = ["ERROR", "OK", "WARNING", "Finding", "diagnose", "examine"]


def diagnose(app: Lanework) -> list[Finding]:
    """The examination of an application's database, past any pooler, on a connection of its own."""
    with connect(app.settings.direct_dsn or app._ready().dsn, app.settings, "doctor") as conn:
        return examine(conn, app.settings)


def examine(conn: psycopg.Connection[Any], settings: Settings) -> list[Finding]:
    asked = time.time()
    state = run(conn, status.server_state())
    answered = time.time()
    patient = Patient(conn, settings, state, state.clock - (asked + answered) / 2, (answered - asked) / 2)
    findings = [one for check in server.CHECKS for one in check(patient)]
    if any(one.check == "schema" and one.level == ERROR for one in findings):
        return findings  # without the schema there is nothing more to read
    return findings + [one for check in engine.CHECKS for one in check(patient)]
