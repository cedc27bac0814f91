"""What the providers make of good and of bad answers; limits and money are tested in `models`."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import pytest

from kg.errors import (
    ModelAway,
    ModelDenied,
    ModelError,
    ModelGarbled,
    ModelRefusal,
    ModelRejected,
    ModelThrottled,
    ModelTruncated,
)
from kg.models.anthropic import AnthropicChat
from kg.models.clients import AnthropicClient, OpenAIClient
from kg.models.failing import meaning
from kg.models.openai import OpenAIChat, OpenAIEmbed, batches
from kg.models.prices import Prices
from kg.parts import Chat, Embed, Embedded, Message
from lanework.errors import ConfigError
from lanework.retries import classify
from tests.kg.models.bare import Bare
from tests.kg.provider import Fault, Provider

TEXT = "Ada Lovelace wrote a program for Charles Babbage. The Analytical Engine was never built."
SCHEMA = {"type": "object", "properties": {"concepts": {"type": "array"}}, "required": ["concepts"], "additionalProperties": False}
ASKED = [Message("system", "You read concepts."), Message("user", TEXT)]


PRICE = Prices({"m": (1.0, 2.0)}, "2026-11-01").of("m")
#: Clients that `run` closes.
_open: list[Any] = []
C = TypeVar("C")


def opened(client: C) -> C:
    _open.append(client)
    return client


def openai_chat(provider: Provider, calls: Any) -> Chat:
    return OpenAIChat(opened(OpenAIClient(provider.openai, "sk-secret", 30)), "m", calls, PRICE, own_server=True)


def anthropic_chat(provider: Provider, calls: Any) -> Chat:
    return AnthropicChat(opened(AnthropicClient(provider.url, "sk-secret", 30)), "m", calls, PRICE)


CHATS = pytest.mark.parametrize("make", [openai_chat, anthropic_chat])
Make = Callable[[Provider, Any], Chat]


def run(what: Awaitable[Any]) -> Any:
    async def alone() -> Any:
        try:
            return await what
        finally:
            for client in _open:
                await client.close()

    return asyncio.run(alone())


@CHATS
def test_an_answer_with_its_cost(provider: Provider, make: Make) -> None:
    calls = Bare()
    answer = run(make(provider, calls).chat(ASKED, schema=SCHEMA))
    assert [one["label"] for one in json.loads(answer.text)["concepts"]][:2] == ["Ada Lovelace", "Charles Babbage"]
    counts = provider.counts()
    assert (answer.usage.tokens_in, answer.usage.tokens_out) == (counts.tokens_in, counts.tokens_out)
    assert answer.usage.cost == pytest.approx((counts.tokens_in + 2 * counts.tokens_out) / 1e6)
    assert calls.made[0].upto.cost >= answer.usage.cost, "what is reserved is never less than what it costs"
    assert run(make(provider, calls).chat(ASKED)).text


@CHATS
def test_a_server_that_refuses_a_format_is_asked_in_another(provider: Provider, make: Make) -> None:
    for fault, calls in (("no_schema", 2), ("no_format", 3 if make is openai_chat else 2)):
        provider.reset()
        provider.fail(fault, times=None)
        chat = make(provider, Bare())

        async def twice(chat: Chat = chat) -> Any:
            first = await chat.chat(ASKED, schema=SCHEMA)
            return first, await chat.chat(ASKED, schema=SCHEMA)

        first, second = run(twice())
        assert json.loads(first.text)["concepts"] == json.loads(second.text)["concepts"]
        assert provider.counts().calls == calls + 1, "what was learned is not asked for again"


@CHATS
def test_a_request_that_is_refused_in_every_format(provider: Provider, make: Make) -> None:
    provider.fail("400", times=None)
    with pytest.raises(ModelRejected, match="answered 400"):
        run(make(provider, Bare()).chat(ASKED, schema=SCHEMA))
    assert provider.counts().calls == 3
    provider.reset()
    provider.fail("404", times=None)
    with pytest.raises(ModelRejected, match="answered 404"):
        run(make(provider, Bare()).chat(ASKED, schema=SCHEMA))
    assert provider.counts().calls == 1, "no such model: no format helps"


@CHATS
@pytest.mark.parametrize(("fault", "kind", "error_class", "again", "billed"), [
    ("401", ModelDenied, "permanent", False, False),
    ("403", ModelDenied, "permanent", False, False),
    ("422", ModelRejected, "invalid_input", False, False),
    ("429", ModelThrottled, "throttled", False, False),
    ("529", ModelThrottled, "throttled", False, False),
    ("500", ModelAway, "transient", True, False),
    ("503", ModelAway, "transient", True, False),
    ("504", ModelAway, "timeout", True, False),
    ("hang", ModelAway, "timeout", True, None),
    ("slow", ModelAway, "timeout", True, None),
    ("close", ModelAway, "transient", True, None),
    ("reset", ModelAway, "transient", True, None),
    ("html", ModelGarbled, "transient", True, True),
    ("garbage", ModelGarbled, "transient", True, None),
    ("empty", ModelGarbled, "transient", True, True),
    ("truncated", ModelTruncated, "permanent", False, True),
    ("refusal", ModelRefusal, "permanent", False, True),
])  # fmt: skip
def test_faults(
    provider: Provider, make: Make, fault: str, kind: type[ModelError], error_class: str, again: bool, billed: bool | None
) -> None:
    provider.fail(Fault(fault, times=None, seconds=0.2))
    with pytest.raises(kind) as caught:
        run(make(provider, Bare(timeout=0.5 if fault in ("hang", "slow") else 30)).chat(ASKED, schema=SCHEMA))
    assert (classify(caught.value), caught.value.again, caught.value.billed) == (error_class, again, billed)
    assert "sk-secret" not in str(caught.value)


def test_a_server_that_is_not_there_was_sent_nothing() -> None:
    nowhere = Provider("http://127.0.0.1:9")
    for make in (openai_chat, anthropic_chat):
        with pytest.raises(ModelAway) as caught:
            run(make(nowhere, Bare()).chat(ASKED))
        assert caught.value.billed is False


@pytest.mark.parametrize(("told", "seconds"), [("7", 7.0), (0.25, 0.25), (None, None), ("soon", None), ("99999999", 3600.0)])
def test_how_long_to_wait(provider: Provider, told: str | float | None, seconds: float | None) -> None:
    provider.fail(Fault("429", retry_after=told))
    with pytest.raises(ModelThrottled) as caught:
        run(openai_chat(provider, Bare()).chat(ASKED))
    assert caught.value.retry_after == seconds


def test_a_date_to_wait_for(provider: Provider) -> None:
    provider.fail(Fault("429", retry_after="Wed, 21 Oct 2099 07:28:00 GMT"))
    with pytest.raises(ModelThrottled) as caught:
        run(anthropic_chat(provider, Bare()).chat(ASKED))
    assert caught.value.retry_after == 3600.0


def test_no_credit_is_not_a_pause() -> None:
    class NoCredit(Exception):
        status_code = 429
        body: ClassVar = {"code": "insufficient_quota", "message": "You exceeded your current quota"}

    assert isinstance(meaning(NoCredit(), "openai", str), ModelDenied)


@CHATS
def test_a_cut_answer_is_fine_where_words_were_asked_for(provider: Provider, make: Make) -> None:
    provider.fail("truncated")
    assert run(make(provider, Bare()).chat(ASKED)).text


@CHATS
def test_an_answer_that_does_not_say_what_it_cost(provider: Provider, make: Make) -> None:
    provider.fail("no_usage")
    usage = run(make(provider, Bare()).chat(ASKED)).usage
    assert usage.tokens_in > 10
    assert usage.tokens_out > 10


def test_a_parameter_that_a_server_does_not_know() -> None:
    chat = OpenAIChat(OpenAIClient("http://nowhere", "", 1), "m", Bare(), PRICE, own_server=False)  # type: ignore[arg-type]
    asked: list[dict[str, Any]] = []

    async def post(path: str, *, body: dict[str, Any], cast_to: Any) -> Any:
        asked.append(body)
        for name in ("max_completion_tokens", "temperature"):
            if name in body:
                raise ModelRejected(f"unknown {name}", field=name)
        raise ModelRefusal("enough")

    client = SimpleNamespace(post=post)
    chat._client.get = lambda: client  # type: ignore[method-assign]
    with pytest.raises(ModelRefusal):
        run(chat.chat(ASKED, schema=SCHEMA))
    assert [sorted(one.keys() & {"max_tokens", "max_completion_tokens", "temperature"}) for one in asked] == [
        ["max_completion_tokens", "temperature"], ["max_tokens", "temperature"], ["max_tokens"],
    ]  # fmt: skip


# -- vectors


def openai_embed(provider: Provider, dimensions: int = 0) -> OpenAIEmbed:
    return OpenAIEmbed(opened(OpenAIClient(provider.openai, "", 30)), "m", Bare(), PRICE, dimensions=dimensions)  # type: ignore[arg-type]


def test_vectors(provider: Provider) -> None:
    embed: Embed = openai_embed(provider)
    with pytest.raises(ModelAway, match="has not answered yet"):
        _ = embed.dimensions
    found: Embedded = run(embed.embed(["a cat", "a cat", "", "the engine"]))
    assert embed.dimensions == 64
    assert found.vectors[0] == found.vectors[1] != found.vectors[3]
    assert all(math.isclose(math.hypot(*one), 1.0) for one in found.vectors)
    assert found.usage.tokens_in == provider.counts().tokens_in
    asked = openai_embed(provider, 8)
    assert len(run(asked.embed(["a cat"])).vectors[0]) == 8 == asked.dimensions
    assert asked.name == "openai:m@8"
    assert run(asked.embed([])).vectors == ()


@pytest.mark.parametrize("fault", ["vector_count", "vector_size", "nan", "zero", "empty", "html", "garbage"])
def test_vectors_that_are_none(provider: Provider, fault: str) -> None:
    provider.fail(fault)
    with pytest.raises(ModelGarbled):
        run(openai_embed(provider).embed(["a cat", "the engine"]))


def test_vectors_of_another_size_than_before(provider: Provider) -> None:
    embed = openai_embed(provider)
    run(embed.embed(["a cat"]))
    provider.set(dimensions=32)
    with pytest.raises(ModelGarbled, match="expected vectors of 64 numbers, got one of 32"):
        run(embed.embed(["a cat"]))


def test_many_texts_go_in_batches() -> None:
    texts = [f"text {number}" for number in range(300)] + ["long " * 90_000, "short"]
    found = list(batches(texts))
    assert [text for batch in found for text in batch] == texts
    assert [len(batch) for batch in found] == [128, 128, 44, 1, 1]


# -- prices


def test_prices(tmp_path: Any) -> None:
    known = Prices()
    assert known.of("gpt-4o-mini-2024-07-18").of(1_000_000, 1_000_000).cost == pytest.approx(0.75)
    assert known.of("claude-haiku-4-5-20251001").warning is None
    assert known.of("somebody/s-model").of(1000, 1000).cost == 0
    assert "not known" in str(known.of("somebody/s-model").warning)
    file = tmp_path / "prices.json"
    file.write_text('{"date": "2026-11-01", "models": {"gpt-4o-mini": [1, 2], "own": [0, 0]}}')
    own = Prices.load(str(file))
    assert str(own.of("gpt-4o-mini")) == "1 USD in, 2 USD out per million tokens (2026-11-01)"
    assert own.of("own").warning is None
    assert own.of("gpt-4.1").date != "2026-11-01"
    for wrong in ("[]", '{"date": "x", "models": {"m": [1]}}', '{"date": "x", "models": {"m": [-1, 2]}}', "{", '{"models": {}}'):
        file.write_text(wrong)
        with pytest.raises(ConfigError, match="KG_PRICES"):
            Prices.load(str(file))
    with pytest.raises(ConfigError, match="KG_PRICES"):
        Prices.load(str(tmp_path / "nowhere.json"))
