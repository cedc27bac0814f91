"""The protocol with a real server: llama.cpp. What the little model says is of no use; its form is."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Iterator

import pytest

from kg.errors import ModelTruncated
from kg.models.clients import OpenAIClient
from kg.models.openai import OpenAIChat, OpenAIEmbed
from kg.models.prices import Price
from kg.models.shape import problems
from kg.models.turns import turn_here
from kg.parts import Message
from tests.kg import llama
from tests.kg.models.bare import AnyTime, Bare

pytestmark = pytest.mark.skipif(bool(llama.missing()), reason=f"not installed: {llama.missing()}; see the Makefile")

SCHEMA = {
    "type": "object", "additionalProperties": False, "required": ["number", "direction"],
    "properties": {
        "number": {"type": "integer", "minimum": 0, "maximum": 9}, "direction": {"type": "string", "enum": ["forward", "both"]},
    },
}  # fmt: skip
ASKED = [Message("system", "Answer in JSON."), Message("user", "A number and a direction.")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with llama.started() as address:
        yield f"{address}/v1"


def test_a_real_server(server: str) -> None:
    client = OpenAIClient(server, "", 100)
    calls, price = Bare(timeout=100), Price("smollm2")
    chat = OpenAIChat(client, "smollm2", calls, price, own_server=True)  # type: ignore[arg-type]
    embed = OpenAIEmbed(client, "smollm2", calls, price)  # type: ignore[arg-type]

    async def talk() -> None:
        answer = await chat.chat(ASKED, schema=SCHEMA, max_tokens=60)
        assert problems(json.loads(answer.text), SCHEMA) == []
        assert len(calls.made) == 1, "it takes the schema at once"
        assert answer.usage.tokens_in > 10
        assert 0 < answer.usage.tokens_out <= 60

        with pytest.raises(ModelTruncated):
            await chat.chat(ASKED, schema=SCHEMA, max_tokens=3)
        assert (await chat.chat([Message("user", "Hello!")], max_tokens=3)).usage.tokens_out == 3

        found = await embed.embed(["a cat", "a cat", "an engine"])
        assert embed.dimensions == 576
        assert found.vectors[0] == pytest.approx(found.vectors[1], abs=1e-3)
        assert math.hypot(*found.vectors[2]) == pytest.approx(1)

        # tokens stream; who leaves in the middle frees the only slot
        turn_here.set(AnyTime())
        stream = await client.get().chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": "Tell a long story."}], stream=True, max_tokens=900
        )
        async for part in stream:
            assert part.choices is not None
            break
        await stream.close()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await chat.chat([Message("user", "Another long story.")], max_tokens=900)
        assert (await chat.chat([Message("user", "Hello!")], max_tokens=2)).text
        await client.close()

    asyncio.run(talk())
