"""Every call of a model: permits, rates, budgets and the ledger, with a real worker and a provider that fails."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kg._store import models as store
from kg._store.schema import prepare
from kg.config import KgSettings
from kg.errors import ModelAway, ModelDenied, ModelMissing, ModelThrottled
from kg.models import openai
from kg.models.calling import Got, calls_for
from kg.models.clients import OpenAIClient
from kg.models.ledger import Ledger
from kg.models.local import OwnEmbed, OwnExtractor
from kg.models.models import MARGIN_S, Models
from kg.models.turns import Turn
from kg.parts import Embedded, Extraction, Known, Message, Usage
from lanework import Context, Handle, JobInfo, Lanework
from lanework.errors import BudgetExceeded, ConfigError, PermitBusy
from lanework.rates import Rate
from lanework.testing import Clock, adrain
from tests.kg.processes import until
from tests.kg.provider import Fault, Provider

KEY = "sk-canary-5f1e"
ASKED = [Message("user", "Ada Lovelace wrote a program for Charles Babbage.")]
PRICES = '{"date": "2026-11-01", "models": {"m": [1000, 2000], "e": [10, 0]}}'


class Bench:
    """An application with one job, which does what the test says, and models by the fake provider."""

    def __init__(self, dsn: str, provider: Provider, folder: Path) -> None:
        self.dsn, self.provider, self.folder = dsn, provider, folder
        self.work = Lanework(dsn, connections=8)
        self.todo: Callable[[Context], Awaitable[Any]]
        self.work.lane("calls", max_slots=None, poll_interval_ms=100)

        @self.work.job(lane="calls", max_tries=1)
        async def does(ctx: Context, part: int = 0) -> Any:
            return await self.todo(ctx)

        self.does = does
        prepare(self.work)
        (folder / "prices.json").write_text(PRICES)
        self.models = self.make()

    def make(self, **settings: Any) -> Models:
        given = {
            "chat": "openai:m", "embed": "openai:e", "openai_url": self.provider.openai, "openai_key": KEY, "model_timeout": 20.0,
            "prices": str(self.folder / "prices.json"), **settings,
        }  # fmt: skip
        models = Models.from_settings(KgSettings.load({}, **given), self.work)
        for calls in (part for part in models._closing if hasattr(part, "limits")):
            object.__setattr__(calls.limits, "base", 0.01)
        return models

    def run(self, what: Awaitable[Any]) -> Any:
        async def alone() -> Any:
            try:
                return await what
            finally:
                await self.models.close()
                await self.work._close_loop()

        return asyncio.run(alone())

    def jobs(self, todo: Callable[[Context], Awaitable[Any]], many: int = 1, **options: Any) -> list[JobInfo]:
        """Runs that many, to their end or until they wait for something."""
        self.todo = todo
        handles: list[Handle[Any]] = [self.does.options(**options).submit(number) for number in range(many)]
        self.run(adrain(self.work))
        return [self.work.get(one.id) for one in handles]

    def job(self, todo: Callable[[Context], Awaitable[Any]], **options: Any) -> JobInfo:
        return self.jobs(todo, **options)[0]

    def rows(self, sql: str) -> list[Any]:
        with psycopg.connect(self.dsn) as conn:
            return conn.execute(sql.encode()).fetchall()

    def outcomes(self) -> dict[str, int]:
        return dict(self.rows("select outcome, count(*) from kg.model_calls group by 1"))


@pytest.fixture
def bench(database: str, provider: Provider, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(database, provider, tmp_path)
    yield bench
    bench.work.close()


async def ask(bench: Bench) -> str:
    assert bench.models.chat is not None
    return (await bench.models.chat.chat(ASKED, max_tokens=100)).text


# -- the ledger


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


# -- permits


def test_no_more_calls_at_a_time_than_allowed(bench: Bench) -> None:
    """Calls that do not end: three are made, and the others are seen to wait."""
    bench.models = bench.make(model_concurrency=3)
    bench.provider.fail("hang", times=None)

    def seen() -> bool:
        now = bench.provider.counts().now
        return now > 3 or (now == 3 and any(one.waiting for one in bench.work.permits.list()))

    async def todo() -> None:
        calls = [asyncio.ensure_future(ask(bench)) for _ in range(7)]
        await asyncio.to_thread(until, seen, "three under way, and others who wait")
        assert bench.provider.counts().most == 3
        bench.provider.fail()
        await asyncio.to_thread(bench.provider.reset)  # lets them go: they are made again
        await asyncio.gather(*calls)

    bench.run(todo())
    assert bench.provider.counts().most <= 3
    assert bench.outcomes() == {"away": 3, "ok": 7}


def test_a_permit_is_held_on_the_wire_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither while the request is made nor while the answer is read. Seen red: with a turn that ends after the client."""
    held: dict[str, dict[str, int]] = {}

    def note(when: str) -> None:
        held[when] = dict(bench.work._permit_pool().held())

    begin = Turn._begin

    async def noted_begin(self: Turn) -> None:
        note("made")
        await begin(self)
        note("sent")

    def noted(*found: Any) -> Got[Any]:
        note("read")
        return Got(*found)

    monkeypatch.setattr(Turn, "_begin", noted_begin)
    monkeypatch.setattr(openai, "Got", noted)
    bench.run(ask(bench))
    assert held == {"made": {}, "sent": {"openai": 1}, "read": {}}


def test_a_429_has_its_permit_until_everybody_knows(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is next would call into the pause. Seen red: with a turn that ends with every answer."""
    held: list[dict[str, int]] = []
    apause = Rate.apause

    async def noted(self: Rate, seconds: float) -> Any:
        paused = await apause(self, seconds)
        held.append(dict(bench.work._permit_pool().held()))
        return paused

    monkeypatch.setattr(Rate, "apause", noted)
    bench.provider.fail(Fault("429", retry_after=0.01))
    bench.run(ask(bench))
    assert held == [{"openai": 1}]


def test_what_stops_a_call_before_it_is_sent_is_told_as_it_is(bench: Bench, database: str) -> None:
    """Seen red: what its client makes of it is a provider that hung up."""
    bench.models = bench.make(
        chat="anthropic:m", anthropic_url=bench.provider.url, anthropic_key=KEY, model_concurrency=1, model_timeout=0.2
    )
    with (
        Lanework(database) as other,
        other.permit("anthropic", capacity=1),
        pytest.raises(ModelThrottled, match="all calls of anthropic are taken"),
    ):
        bench.run(ask(bench))
    assert bench.provider.counts().calls == 0 and not bench.outcomes()


def test_nothing_is_sent_outside_of_a_call(bench: Bench) -> None:
    async def todo() -> None:
        client = OpenAIClient(bench.provider.openai, KEY, 10)
        with pytest.raises(RuntimeError, match="outside of a call"):
            await client.get().models.list()
        await client.close()

    bench.run(todo())


# -- throttling


def test_a_429_pauses_everybody_and_fails_nobody(bench: Bench, database: str) -> None:
    """Retry-After is an hour; a person ends the pause."""
    bench.provider.fail(Fault("429", retry_after=3600))
    bench.models = bench.make(model_concurrency=1)

    async def todo(ctx: Context) -> None:
        await asyncio.gather(ask(bench), ask(bench))

    with Lanework(database) as other:

        def resume() -> None:
            until(lambda: [one for one in other.rates.list() if one.paused_until is not None], "paused")
            paused.append(other.rates.get("openai").paused_until)
            with pytest.raises(PermitBusy):
                other.rate("openai").take(wait=0.05)
            calls.append(bench.provider.counts().calls)
            other.rates.resume("openai")

        paused: list[Any] = []
        calls: list[int] = []
        thread = threading.Thread(target=resume)
        thread.start()
        job = bench.job(todo)
        thread.join()
    assert (job.status, job.tries_used, job.attempt) == ("completed", 0, 1)
    assert paused
    assert calls == [1], "nobody calls in a pause"
    assert bench.outcomes() == {"throttled": 1, "ok": 2}


def test_a_storm_of_429s_only_delays(bench: Bench) -> None:
    bench.provider.fail(Fault("429", times=25, retry_after=0.01), Fault("529", times=5, retry_after=0.01))
    bench.models = bench.make(model_retries=0)

    async def todo(ctx: Context) -> None:
        await asyncio.gather(*(ask(bench) for _ in range(5)))

    job = bench.job(todo)
    assert (job.status, job.tries_used) == ("completed", 0)
    assert bench.outcomes() == {"throttled": 30, "ok": 5}
    assert bench.rows("select sum(cost) from kg.model_calls where outcome = 'throttled'") == [(0.0,)]


def test_pauses_grow_with_the_waves_and_not_with_the_calls(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight that were under way when the first was refused are one wave."""
    pauses: list[float] = []
    monkeypatch.setattr("kg.models.throttle.backoff", lambda waves, base, cap: [0.02, 0.03, 0.04][waves])
    bench.provider.set(latency=0.05)
    bench.provider.fail(Fault("429", times=8))
    real = type(bench.work.rate("openai")).apause

    async def apause(self: Any, seconds: float) -> Any:
        pauses.append(seconds)
        return await real(self, seconds)

    monkeypatch.setattr("lanework.rates.Rate.apause", apause)

    async def todo() -> None:
        await asyncio.gather(*(ask(bench) for _ in range(8)))

    bench.run(todo())
    assert set(pauses) == {0.02}


def test_outside_of_a_job_patience_ends(bench: Bench) -> None:
    bench.models = bench.make(model_timeout=2)
    bench.provider.fail(Fault("429", times=None, retry_after=30))
    with pytest.raises(ModelThrottled) as caught:
        bench.run(ask(bench))
    assert caught.value.retry_after == 30
    with pytest.raises(ModelThrottled, match="as often as it may"):
        bench.run(ask(bench))
    assert bench.provider.counts().calls == 1


def test_tokens_per_minute(bench: Bench) -> None:
    """A call that is larger than the limit of a minute takes all of it; the next one has to wait."""
    bench.models = bench.make(model_tokens=50, model_timeout=2)
    bench.run(ask(bench))
    with pytest.raises(ModelThrottled, match="as often as it may"):
        bench.run(ask(bench))
    assert bench.provider.counts().calls == 1


# -- trying again


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


# -- money


def test_no_budget_is_exceeded_whatever_happens(bench: Bench) -> None:
    """429s, 500s, connections that break after the answer was made and billed, and answers of no use, until the money ends."""
    bench.models = bench.make(model_concurrency=4, model_timeout=5.0, model_retries=50)
    bench.work.budgets.set("openai", Decimal("1.5"), per="total")
    bench.provider.fail(
        Fault("429", times=None, every=5, retry_after=0.01), Fault("reset", times=None, every=7), Fault("500", times=None, every=6),
        Fault("garbage", times=None, every=11), Fault("empty", times=None, every=9),
    )  # fmt: skip

    async def todo(ctx: Context) -> None:
        for _ in range(3):
            await asyncio.gather(ask(bench), ask(bench))

    jobs = bench.jobs(todo, 8)
    counts = bench.provider.counts()
    billed = Decimal(counts.tokens_in) / 1000 + Decimal(counts.tokens_out) * 2 / 1000
    budget = bench.work.budgets.get("openai")
    assert billed <= budget.spent <= Decimal("1.5")
    assert budget.reserved == 0
    assert "blocked_on" in str(jobs) or any(job.status == "queued" for job in jobs), "some wait for money"
    ((total,),) = bench.rows("select sum(cost) from kg.model_calls")
    assert float(billed) <= total + 1e-9
    assert {"throttled", "away", "ok"} <= bench.outcomes().keys()
    assert not [job for job in jobs if job.tries_used]
    bench.provider.fail()  # which call meets which fault is chance, and one that met too many of them in a row would give up
    bench.work.budgets.set("openai", 1000)
    bench.run(adrain(bench.work))
    assert {bench.work.get(job.id).status for job in jobs} == {"completed"}


def test_money_of_whoever_asks_without_a_job(bench: Bench) -> None:
    bench.work.budgets.set("owner:ann", Decimal("0.5"))

    async def todo() -> None:
        with calls_for(owner="ann"):
            await ask(bench)
        spent = bench.work.budgets.get("owner:ann").spent
        assert 0 < spent < Decimal("0.5")
        bench.work.budgets.set("owner:ann", spent)
        with calls_for(owner="ann"), pytest.raises(BudgetExceeded, match="owner:ann"):
            await ask(bench)
        await ask(bench)

    bench.run(todo())
    assert bench.rows("select owner, outcome from kg.model_calls order by id") == [("ann", "ok"), (None, "ok")]


def test_a_cancelled_job_may_have_paid(bench: Bench) -> None:
    bench.provider.fail("hang")
    bench.work.budgets.set("openai", 10)

    async def todo(ctx: Context) -> None:
        await ask(bench)

    bench.todo = todo
    handle = bench.does.submit()

    def cancel() -> None:
        bench.provider.wait(now=1)
        bench.work.cancel(handle.id)

    thread = threading.Thread(target=cancel)
    thread.start()
    bench.run(adrain(bench.work))
    thread.join()
    assert bench.work.get(handle.id).status == "cancelled"
    assert bench.outcomes() == {"cancelled": 1}
    assert [one.state for one in bench.work.budgets.reservations(job=handle.id)] == ["unknown"]
    assert bench.work.permits.get("openai").held == 0


# -- a chunk


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


# -- secrets and settings


def test_the_key_is_nowhere(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """The provider says it aloud."""
    bench.provider.set(key="another")

    async def todo(ctx: Context) -> None:
        await ask(bench)

    with caplog.at_level(logging.DEBUG):
        job = bench.job(todo)
    assert job.error_code == "KG-222"
    assert "Incorrect API key provided" in str(job.error)
    traces = str([one.traceback for one in bench.work.attempts(job.id)])
    assert "•••" in str(job.error)
    for told in (str(job), repr(job), traces, repr(KgSettings.load({}, openai_key=KEY, anthropic_key=KEY))):
        assert KEY not in told
    with pytest.raises(ModelDenied) as caught:
        bench.run(ask(bench))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(("given", "words"), [
    ({"chat": "gpt-4o"}, "KG_CHAT: expected local or openai:MODEL or anthropic:MODEL, got 'gpt-4o'"),
    ({"chat": "openai:"}, "KG_CHAT"), ({"embed": "anthropic:m"}, "KG_EMBED: expected local or local:FOLDER or"),
    ({"chat": "local:x"}, "KG_CHAT"), ({"openai_url": "", "openai_key": ""}, "KG_OPENAI_KEY"),
    ({"chat": "anthropic:m"}, "KG_ANTHROPIC_KEY"), ({"prices": "nowhere.json"}, "KG_PRICES"),
])  # fmt: skip
def test_settings_that_are_wrong(tmp_path: Path, given: dict[str, str], words: str) -> None:
    settings = {"chat": "openai:m", "embed": "openai:e", "openai_key": KEY, **given}
    with pytest.raises(ConfigError) as caught:
        Models.from_settings(KgSettings.load({}, **settings), Lanework("postgresql://nowhere/none"))
    assert words in str(caught.value)


def test_estimates_at_todays_limits(bench: Bench) -> None:
    models = bench.make(model_concurrency=4, model_requests=60, model_tokens=1000, chat="openai:unheard")
    assert models.seconds(8, Usage(10, 10)) == 10.0
    assert models.seconds(100, Usage(10, 10), per_call=0.1) == 100.0
    assert models.seconds(1, Usage(9000, 1000), per_call=0.1) == 600.0
    assert models.warnings == ["the price of unheard is not known: it counts as 0 (KG_PRICES names a file with prices)"]


# -- models that run here


class Heavy:
    """Counts how often it is made and loaded."""

    name = "heavy"
    dimensions = 2
    made = loaded = 0

    def __init__(self) -> None:
        Heavy.made += 1

    def load(self) -> None:
        assert threading.current_thread() is not threading.main_thread(), "loading takes seconds: not on the loop"
        Heavy.loaded += 1

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(tuple((1.0, 0.0) for _ in texts))

    async def extract(self, text: str, *, known: Sequence[Known] = ()) -> Extraction:
        raise ValueError(f"cannot read {text!r}")

    def expect(self, text: str, *, known: Sequence[Known] = ()) -> tuple[Usage, Usage]:
        return Usage(1), Usage(2)


@pytest.fixture
def heavy(bench: Bench) -> Models:
    Heavy.made = Heavy.loaded = 0
    ledger = Ledger(bench.work)
    return Models(OwnEmbed(ledger, Heavy), OwnExtractor(ledger, Heavy))


def test_a_model_that_runs_here_is_loaded_once(bench: Bench, heavy: Models) -> None:
    assert (heavy.embed.name, Heavy.loaded) == ("heavy", 0)  # what it is called is known before

    async def todo() -> None:
        await asyncio.gather(*(heavy.load() for _ in range(5)), heavy.embed.embed(["at once"]))
        assert (heavy.embed.name, heavy.embed.dimensions) == ("heavy", 2)
        await asyncio.gather(*(heavy.embed.embed(["a", "b"]) for _ in range(9)))
        with pytest.raises(ValueError, match="cannot read"):
            await heavy.extractor.extract("x")
        assert heavy.extractor.expect("text") == (Usage(1), Usage(2))

    bench.run(todo())
    assert (Heavy.made, Heavy.loaded) == (2, 2)
    assert bench.outcomes() == {"ok": 10, "failed": 1}


def test_a_worker_loads_them_before_its_first_job(bench: Bench, heavy: Models) -> None:
    heavy.declare(bench.work)

    async def todo(ctx: Context) -> int:
        return Heavy.loaded

    assert [job.result for job in bench.jobs(todo, 3)] == [2, 2, 2]


def test_local_models_that_are_not_installed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kg.models.local.EMBED", "kg.nowhere.embedding:LocalEmbed")
    models = bench.make(embed="local")
    with pytest.raises(ModelMissing, match="lanework\\[local\\]"):
        bench.run(models.load())


def test_a_provider_that_is_away_at_the_start_is_asked_later(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.models = bench.make(model_retries=0)
    bench.provider.fail("503")
    bench.run(bench.models.load())
    assert "not there yet" in caplog.text

    async def later() -> int:
        await bench.models.embed.embed(["x"])
        return bench.models.embed.dimensions

    assert bench.run(later()) == 64


LEFT = """
import asyncio, sys
from pathlib import Path
from tests.kg.provider import Provider
from tests.kg.test_calling import Bench, ask

bench = Bench(sys.argv[1], Provider(sys.argv[2]), Path(sys.argv[3]))
bench.run(ask(bench))
"""


def test_money_that_a_killed_process_had_reserved_is_settled(bench: Bench, provider: Provider) -> None:
    """No job has made the call, so no attempt ends with it: nobody but maintenance can know."""
    bench.work.budgets.set("day", 1000)
    bench.models.declare(bench.work)
    provider.fail("hang")
    left = subprocess.Popen([sys.executable, "-c", LEFT, bench.dsn, provider.url, str(bench.folder)], cwd=Path(__file__).parents[2])
    provider.wait(now=1)
    left.kill()
    left.wait()
    reserved = bench.work.budgets.get("day").reserved
    assert reserved > 0 and bench.work.budgets.get("day").spent == 0

    async def tended() -> Decimal:
        await bench.work._arun(store.settle_lost_calls(bench.models.limits.longest + MARGIN_S))
        return (await bench.work.budgets.aget("day")).reserved

    assert bench.run(tended()) == reserved  # it may be only slow
    clock = Clock(bench.work)
    clock.advance(seconds=bench.models.limits.longest + 2 * MARGIN_S)
    bench.run(maintained(bench))
    assert [one.amount for one in bench.work.budgets.reservations() if one.state == "unknown"] == [reserved]
    assert bench.work.budgets.get("day").spent >= reserved  # nobody knows whether it is on the bill: it counts


async def maintained(bench: Bench) -> None:
    async with bench.work.worker():
        await bench.work.maintenance.arun_now("lost_calls")
        while (await bench.work.budgets.aget("day")).reserved:
            await asyncio.sleep(0.02)
