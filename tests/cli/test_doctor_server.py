"""`lanework doctor` on a server that is ill."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from lanework._store.status import ServerState
from lanework.cli import main
from lanework.config import Settings
from lanework.diagnosis import ERROR, OK, WARNING, Finding, server
from lanework.diagnosis.finding import Patient
from tests.cli.commands import Cli


def _levels(cli: Cli) -> dict[str, str]:
    cli("doctor", "-o", "json")
    return {finding["check"]: finding["level"] for finding in json.loads(cli.out)["findings"]}


def test_doctor_finds_what_nobody_serves(cli: Cli, submit: Callable[..., list[int]]) -> None:
    submit()
    assert cli("doctor") == 1
    assert "ERROR    types: jobs of type double wait in lane quick, and no worker serves them" in cli.out
    assert "→ start a worker for lane quick whose application declares double" in cli.out
    assert cli("lanes", "drain", "quick") == 0
    assert _levels(cli)["lanes"] == WARNING


def test_doctor_needs_no_schema(empty_database: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--dsn", empty_database, "doctor"]) == 1
    out = capsys.readouterr().out
    assert "ERROR    schema: " in out and "→ lanework migrate" in out


def test_doctor_sees_a_changed_migration(cli: Cli, sql: Callable[..., Any]) -> None:
    sql("update lanework.migrations set checksum = 'x' where number = 2")
    assert cli("doctor") == 1
    assert "LW-211: 0002_" in cli.out


def test_doctor_sees_a_long_transaction(cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LONG_TRANSACTION", 0.0)
    with psycopg.connect(database, application_name="sleeper") as db:
        db.execute("select 1")
        assert _levels(cli)["transactions"] == WARNING
        assert cli("doctor", "--strict") == 1
        assert "sleeper, idle in transaction" in cli.out and f"pg_terminate_backend({db.info.backend_pid})" in cli.out


HEALTHY = ServerState(180001, "on", "on", "on", "on", False, 0.0, 0.0, 100, 3, 10)


@pytest.mark.parametrize(
    ("check", "state", "skew", "level"),
    [
        (server.version, {}, 0.0, OK),
        (server.version, {"version": 140000}, 0.0, ERROR),
        (server.version, {"standby": True}, 0.0, ERROR),
        (server.durability, {}, 0.0, OK),
        (server.durability, {"fsync": "off"}, 0.0, ERROR),
        (server.durability, {"synchronous_commit": "off"}, 0.0, ERROR),
        (server.durability, {"full_page_writes": "off"}, 0.0, WARNING),
        (server.connections, {}, 0.0, OK),
        (server.connections, {"connections": 90}, 0.0, WARNING),
        (server.connections, {"connections": 96}, 0.0, ERROR),
        (server.notifications, {"notifications": 0.2}, 0.0, WARNING),
        (server.notifications, {"notifications": 0.7}, 0.0, ERROR),
        (server.clock, {}, 1.0, OK),
        (server.clock, {}, -30.0, WARNING),
    ],
)
def test_what_the_doctor_thinks(check: Any, state: dict[str, Any], skew: float, level: str) -> None:
    patient = Patient(None, replace(Settings(), allow_unsafe=False), HEALTHY._replace(**state), skew, 0.01)  # type: ignore[arg-type]
    findings: list[Finding] = list(check(patient))
    assert [one.level for one in findings] == [level]
    assert bool(findings[0].remedy) == (level != OK)
