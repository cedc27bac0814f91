"""Anthropic, by its official client with its own retries off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kg.errors import ModelGarbled, ModelRefusal, ModelRejected, ModelTruncated
from kg.models.calling import Call, Calls, Got
from kg.models.clients import AnthropicClient
from kg.models.openai import with_schema
from kg.models.prices import Price
from kg.models.tokens import likely, most
from kg.parts import Answer, Message

#: How JSON is asked for, the strictest way first. A model that refuses a way is asked in the next.
FORMATS = ("json_schema", "tool", "plain")
TOOL = "answer"


class AnthropicChat:
    def __init__(self, client: AnthropicClient, model: str, calls: Calls, price: Price) -> None:
        self.name = f"anthropic:{model}"
        self._client, self._model, self._calls, self._price = client, model, calls, price
        self._format = FORMATS[0]

    async def load(self) -> None:
        await self._client.load()
        await self._calls.load()

    async def chat(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 4096) -> Answer:
        if schema is None:
            return await self._ask(messages, None, "plain", max_tokens)
        refusal: ModelRejected | None = None
        for way in FORMATS[FORMATS.index(self._format) :]:
            try:
                answer = await self._ask(messages, schema, way, max_tokens)
            except ModelRejected as error:
                if error.error_class == "permanent":
                    raise
                refusal = refusal or error
                continue
            self._format = way
            return answer
        assert refusal is not None
        raise refusal

    async def _ask(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, way: str, max_tokens: int) -> Answer:
        options: dict[str, Any] = {}
        if schema is not None and way == "json_schema":
            options["output_config"] = {"format": {"type": way, "schema": dict(schema)}}
        elif schema is not None and way == "tool":
            options["tools"] = [{"name": TOOL, "description": "Takes the answer.", "input_schema": dict(schema)}]
            options["tool_choice"] = {"type": "tool", "name": TOOL}
        elif schema is not None:
            messages = with_schema(messages, schema)
        if rules := "\n\n".join(one.content for one in messages if one.role == "system"):
            options["system"] = rules
        said = [{"role": one.role, "content": one.content} for one in messages if one.role != "system"]
        texts = [one.content for one in messages]
        sent = most(*texts, json.dumps(schema) if schema else "")

        client = self._client.get()

        async def ask() -> Got[Any]:
            found = await client.messages.create(model=self._model, max_tokens=max_tokens, messages=said, **options)
            usage = getattr(found, "usage", None)
            if usage is None:
                return Got(found, likely(*texts), likely(_text(found)))
            cached = (getattr(usage, "cache_creation_input_tokens", 0) or 0) + (getattr(usage, "cache_read_input_tokens", 0) or 0)
            return Got(found, int(usage.input_tokens or 0) + cached, int(usage.output_tokens or 0))

        call = Call(
            self._model, self._price, ask, lambda found: _check(found, whole=schema is not None),
            self._price.of(sent, max_tokens), likely(*texts), "chat",
        )  # fmt: skip
        found, usage = await self._calls.make(call)
        return Answer(_text(found), usage)


def _text(found: Any) -> str:
    """The text, or what the tool was given."""
    blocks = getattr(found, "content", None) or []
    used = [json.dumps(block.input, ensure_ascii=False) for block in blocks if getattr(block, "type", "") == "tool_use"]
    return used[0] if used else "".join(str(block.text) for block in blocks if getattr(block, "type", "") == "text")


def _check(found: Any, *, whole: bool) -> None:
    stop = getattr(found, "stop_reason", None)
    if stop == "refusal":
        raise ModelRefusal("the model does not answer this")
    if stop in ("max_tokens", "model_context_window_exceeded") and whole:
        raise ModelTruncated("the answer was cut off at its limit of tokens")
    if not _text(found):
        raise ModelGarbled(f"expected an answer with text in it, got {str(found)[:200]!r}")
