"""Calls that fail are made again, so many times."""

from __future__ import annotations

import pytest

from kg.errors import ModelAway
from kg.parts import Extraction
from lanework import Context
from tests.kg.models.bench import Bench, ask
from tests.kg.provider import Fault


def test_what_may_pass_is_tried_again(bench: Bench) -> None:
    for place, fault in enumerate(["500", "503", "reset", "close", "garbage", "empty"], 1):
        bench.provider.fail(fault, times=2)
        assert bench.run(ask(bench))
        assert sum(bench.outcomes().values()) == 3 * place, fault
    assert bench.outcomes() == {"ok": 6, "away": 8, "garbled": 4}


def test_a_limited_number_of_times(bench: Bench) -> None:
    bench.models = bench.make(model_retries=2)
    bench.provider.fail("500", times=None)
    with pytest.raises(ModelAway, match="answered 500"):
        bench.run(ask(bench))
    assert bench.outcomes() == {"away": 3}


def test_an_answer_that_does_not_come_in_time(bench: Bench) -> None:
    bench.models = bench.make(model_retries=0, model_timeout=0.2)
    bench.provider.fail("hang")
    with pytest.raises(ModelAway, match="did not answer in time"):
        bench.run(ask(bench))
    bench.provider.wait(gone=1)
    assert bench.outcomes() == {"timeout": 1}
    ((cost,),) = bench.rows("select cost from kg.model_calls")
    assert cost > 0, "it may be on the bill: it counts, whole"


def test_a_chunk_is_read_through_all_of_it(bench: Bench) -> None:
    """Throttled, then no JSON, then quotes that stand nowhere: read, with two answers paid."""
    bench.provider.fail(Fault("429", retry_after=0.01), "invalid_json", "false_quotes")
    text = "Ada Lovelace wrote a program for Charles Babbage. The Engine was never built."

    async def todo(ctx: Context) -> Extraction:
        return await ctx.astep("chunk", bench.models.extractor.extract, text)

    job = bench.job(todo)
    assert job.status == "completed", job.error
    assert [one["label"] for one in job.result["concepts"]] == ["Ada Lovelace", "Charles Babbage", "The Engine"]
    assert job.result["dropped"] == 3
    assert all(text[one["start"] :].startswith(one["quote"]) for one in job.result["instances"])
    assert bench.rows("select purpose, outcome from kg.model_calls order by id") == [
        ("extract", "throttled"), ("extract", "ok"), ("repair", "ok"),
    ]  # fmt: skip
    ((cost,),) = bench.rows("select sum(cost) from kg.model_calls")
    assert job.result["usage"]["cost"] == pytest.approx(cost)
    low, high = bench.models.extractor.expect(text)
    assert 0 < low.cost < high.cost
