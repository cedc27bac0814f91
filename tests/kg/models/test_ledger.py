"""Every call of a model has a row, and its job the cost."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import psycopg
import pytest

from kg._store import models as store
from kg.models.calling import calls_for
from kg.models.ledger import Ledger
from lanework import Context
from tests.kg.models.bench import Bench, ask


def test_each_call_has_a_row_and_the_job_its_cost(bench: Bench) -> None:
    async def todo(ctx: Context) -> int:
        await bench.models.load()
        with calls_for("extract"):
            await ask(bench)
        await bench.models.embed.embed(["one", "two"])
        return ctx.job_id

    job = bench.job(todo, owner="ann")
    assert job.status == "completed", job
    found = bench.rows(
        "select job_id, owner, provider, model, purpose, outcome, seconds > 0, cost > 0 from kg.model_calls order by id"
    )
    who = (job.id, "ann", "openai")
    assert found[0] == (None, None, "openai", "e", "embed", "ok", True, True) or found[0][:3] == who
    assert found[1:] == [(*who, "m", "extract", "ok", True, True), (*who, "e", "embed", "ok", True, True)]
    counts = bench.provider.counts()
    ((total, tokens),) = bench.rows("select sum(cost), sum(tokens_in + tokens_out) from kg.model_calls")
    assert tokens == counts.tokens_in + counts.tokens_out
    assert job.actual is not None
    assert job.actual.cost == pytest.approx(total, abs=1e-5)
    assert job.actual.tokens == tokens


def test_a_call_that_fails_has_a_row_too(bench: Bench) -> None:
    bench.provider.fail("500", "401")

    async def todo(ctx: Context) -> None:
        await ask(bench)

    job = bench.job(todo)
    assert (job.status, job.error_class, job.error_code) == ("failed", "permanent", "KG-222")
    assert bench.outcomes() == {"away": 1, "denied": 1}
    assert bench.provider.counts().calls == 2, "what a key is not allowed to do is not tried again"
    assert bench.rows("select sum(cost) from kg.model_calls") == [(0.0,)]


def test_a_row_waits_for_the_database_and_the_answer_does_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, away = bench.work._arun, True

    async def arun(verb: Any) -> Any:
        if away and b"model_calls" in verb.sql:
            raise psycopg.OperationalError("the database is away")
        return await real(verb)

    monkeypatch.setattr(bench.work, "_arun", arun)

    async def todo() -> None:
        nonlocal away
        with caplog.at_level(logging.WARNING, "kg"):
            assert await ask(bench)
        assert "1 rows wait" in caplog.text
        away = False
        assert await ask(bench)

    bench.run(todo())
    assert bench.outcomes() == {"ok": 2}


def test_a_row_that_is_written_twice_is_there_once(bench: Bench) -> None:
    row = store.CallRow("6f9619ff-8b86-d011-b42d-00cf4fc964ff", None, None, "p", "m", "", 1, 1, 0.0, 0.1, "ok")
    bench.work._run(store.write_calls([row, row._replace(call="7f9619ff-8b86-d011-b42d-00cf4fc964ff")]))
    bench.work._run(store.write_calls([row]))
    assert bench.outcomes() == {"ok": 2}
    assert bench.work._run(store.remove_calls(1.0)) == 0
    bench.rows("update kg.model_calls set at = now() - interval '2 days' returning 1")
    assert bench.work._run(store.remove_calls(1.0)) == 2


def test_rows_go_together(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    real = store.write_calls

    def write(rows: Any) -> Any:
        writes.append(len(rows))
        return real(rows)

    monkeypatch.setattr("kg.models.ledger.write_calls", write)
    ledger = Ledger(bench.work)
    made = [store.CallRow(f"6f9619ff-8b86-d011-b42d-{n:012}", None, None, "p", "m", "", 1, 1, 0.0, 0.1, "ok") for n in range(100)]

    async def todo() -> None:
        await asyncio.gather(*map(ledger.write, made))

    bench.run(todo())
    assert bench.outcomes() == {"ok": 100}
    assert len(writes) <= 3
