"""Rates in SQL: no window has more than the limit, wherever it begins; after a pause the burst is one."""

from __future__ import annotations

import json
import random

import psycopg
import pytest

from tests.sql.conftest import Another
from tests.sql.engine import Engine
from tests.sql.interleave import Beside
from tests.sql.proof import move


def rate(engine: Engine, name: str = "r", **values: float) -> None:
    engine.rows("select * from lanework.set_rate(%s, %s::jsonb, 'test')", name, json.dumps(values))


def take(engine: Engine, want: float = 1, tokens: float = 0, want_tokens: float | None = None) -> dict[str, float]:
    many = tokens if want_tokens is None else want_tokens
    row = engine.rows("select * from lanework.take_rate('r', 1, %s, %s, %s)", tokens, want, many)[0]
    return {key: float(value) for key, value in row.items()}


def busiest(grants: list[tuple[float, float]], window: float = 60.0) -> float:
    """The most that any window has."""
    return max((sum(n for at, n in grants if start <= at < start + window) for start, _ in grants), default=0.0)


@pytest.mark.parametrize("limit", [1, 2, 19, 20, 60, 500])
def test_no_window_has_more_than_the_limit(engine: Engine, limit: int) -> None:
    rate(engine, requests=limit)
    at, grants, chance = 0.0, list[tuple[float, float]](), random.Random(limit)
    while at < 200:
        got = take(engine, want=chance.choice([1, 1, 5, 1000]))
        if got["requests"]:
            grants.append((at, got["requests"]))
            nap = chance.choice([0, 0, 0.01]) if chance.random() < 0.998 else 70.0
        else:
            nap = got["wait_s"] + 1e-4
        if nap:
            move(engine, seconds=nap)
            at += nap
    assert 1 <= busiest(grants) <= limit


@pytest.mark.parametrize("limit", [2, 60, 200])
def test_the_limit_is_nearly_reached(engine: Engine, limit: int) -> None:
    rate(engine, requests=limit)
    at, grants = 0.0, list[tuple[float, float]]()
    while at < 70:
        got = take(engine)
        grants.append((at, got["requests"]))
        move(engine, seconds=got["wait_s"] + 1e-4)
        at += got["wait_s"] + 1e-4
    assert limit * 0.95 <= busiest(grants) <= limit


def test_slices_are_whole_requests(engine: Engine) -> None:
    rate(engine, requests=30)
    assert take(engine, want=7)["requests"] == 1
    assert take(engine)["requests"] == 0


@pytest.mark.parametrize("big", [1200, 4500, 9000, 60_000])
def test_tokens_too_and_requests_larger_than_the_burst(engine: Engine, big: int) -> None:
    rate(engine, tokens=90_000)
    at, grants, chance = 0.0, list[tuple[float, float]](), random.Random(big)
    while at < 300:
        wanted = chance.choice([big // 2, big])
        got = take(engine, tokens=wanted)
        if got["tokens"]:
            assert got["tokens"] == wanted
            grants.append((at, float(wanted)))
        else:
            move(engine, seconds=got["wait_s"] + 1e-4)
            at += got["wait_s"] + 1e-4
    assert busiest(grants) <= 90_000


def test_both_limits_hold(engine: Engine) -> None:
    rate(engine, requests=600, tokens=1000)
    assert take(engine, want=100, tokens=30, want_tokens=3000) == {"requests": 30, "tokens": 50, "wait_s": 0}
    refused = take(engine, tokens=30)
    assert refused["requests"] == 0 and refused["wait_s"] > 0


def test_more_than_a_window_can_have_is_refused(engine: Engine) -> None:
    rate(engine, tokens=100)
    with pytest.raises(psycopg.Error) as refused:
        take(engine, tokens=101)
    assert refused.value.sqlstate == "LW541"
    with pytest.raises(psycopg.Error) as missing:
        engine.rows("select * from lanework.take_rate('nothing', 1, 0, 1, 0)")
    assert missing.value.sqlstate == "LW545"


def test_after_a_pause_the_burst_is_one(engine: Engine) -> None:
    rate(engine, requests=600)
    assert take(engine, want=100)["requests"] == 30
    engine.rows("select lanework.pause_rate('r', 30)")
    assert take(engine)["wait_s"] == pytest.approx(30)
    engine.rows("select lanework.pause_rate('r', 5)")
    assert take(engine)["wait_s"] == pytest.approx(30), "a shorter pause does not end a longer one"
    move(engine, seconds=30.001)
    assert take(engine, want=100)["requests"] == 1
    assert take(engine)["requests"] == 0


def test_grants_are_counted_one_after_the_other(engine: Engine, another: Another) -> None:
    rate(engine, requests=20)
    other = another()
    with engine.db.transaction():
        assert take(engine)["requests"] == 1
        answer = Beside(another(), other, lambda: take(other))
        assert answer.blocked
    assert answer.result()["requests"] == 0


def test_acts_on_rates_are_audited(engine: Engine) -> None:
    rate(engine, requests=20)
    engine.rows("select lanework.pause_rate('r', 5, 'ann')")
    assert engine.one("select lanework.resume_rate('r', 'ann')")
    assert take(engine, want=9)["requests"] == 1
    acts = [row["act"] for row in engine.rows("select act from lanework.audit_log order by id")]
    assert acts == ["rate.set", "rate.pause", "rate.resume"]
