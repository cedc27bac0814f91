"""`lanework permits`, `rates` and `budgets`."""

from __future__ import annotations

import json

import pytest

from lanework import Lanework
from lanework.cli import main
from tests.sql.engine import Engine


class Run:
    def __init__(self, dsn: str, capture: pytest.CaptureFixture[str]) -> None:
        self._dsn, self._capture = dsn, capture

    def __call__(self, *words: str, code: int = 0) -> str:
        self._capture.readouterr()
        assert main([*words, "--dsn", self._dsn]) == code
        self.said = self._capture.readouterr()
        return self.said.out


@pytest.fixture
def cli(database: str, capsys: pytest.CaptureFixture[str]) -> Run:
    return Run(database, capsys)


def test_permits(cli: Run, app: Lanework, sql: Engine) -> None:
    assert cli("permits", "list") == "" and "no permit" in cli.said.err
    assert "capacity  none  3" in cli("permits", "set", "gpu", "3")
    token = app.permits.acquire("gpu", ttl=60, holder="ann")
    assert "1/3" in cli("permits", "list")
    assert json.loads(cli("permits", "list", "-o", "json"))[0]["held"] == 1
    assert cli("permits", "list", "-o", "ids") == "gpu\n"
    shown = cli("permits", "show", "gpu")
    assert token.token in shown and "ann" in shown
    cli("permits", "release", token.token)
    assert app.permits.get("gpu").held == 0
    cli("permits", "release", token.token, code=5)
    cli("permits", "show", "nothing", code=5)
    cli("permits", "set", "gpu", "10001", code=2)
    assert "was so already" in (cli("permits", "set", "gpu", "3") or cli.said.err)
    acts = [(row["act"], row["actor"]) for row in sql.rows("select act, actor from lanework.audit_log order by id")]
    assert [act for act, _ in acts] == ["permit.set", "permit.release", "permit.set"]
    assert {actor.partition(":")[0] for _, actor in acts} == {"cli"}


def test_rates(cli: Run, app: Lanework) -> None:
    cli("rates", "pause", "openai", "10s", code=5)
    assert "500" in cli("rates", "set", "openai", "--requests", "500", "--tokens", "90000")
    cli("rates", "set", "openai", "--tokens", "none", "--window", "2m", "--burst", "0.1")
    info = app.rates.get("openai")
    assert (info.requests, info.tokens, info.window_s, info.burst) == (500, None, 120, 0.1)
    cli("rates", "pause", "openai", "10m")
    assert app.rates.get("openai").paused_until is not None
    assert json.loads(cli("rates", "list", "-o", "json"))[0]["name"] == "openai"
    cli("rates", "resume", "openai")
    assert app.rates.get("openai").paused_until is None
    cli("rates", "set", "openai", code=2)
    cli("rates", "resume", "nothing", code=5)


def test_budgets(cli: Run, app: Lanework) -> None:
    cli("budgets", "set", "owner:ann", "20.5", "--per", "day")
    assert "20.5" in cli("budgets", "list")
    assert cli("budgets", "list", "owner:ann", "-o", "ids") == "owner:ann\n"
    assert json.loads(cli("budgets", "list", "-o", "jsonl"))["per"] == "day"
    cli("budgets", "set", "owner:ann", "30")
    assert app.budgets.get("owner:ann").per == "day"
    cli("budgets", "set", "owner:ann", "much", code=2)
    cli("budgets", "remove", "owner:ann")
    cli("budgets", "remove", "owner:ann", code=5)
