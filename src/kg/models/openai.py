"""Any server that speaks OpenAI's protocol: OpenAI, vLLM, Ollama, llama.cpp. The official client, with its own retries off."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kg.errors import ModelAway, ModelGarbled, ModelRefusal, ModelRejected, ModelTruncated
from kg.models.calling import Call, Calls, Got, calls_for
from kg.models.clients import OpenAIClient
from kg.models.prices import Price
from kg.models.tokens import likely, most
from kg.models.vectors import check_vectors, unit
from kg.parts import Answer, Embedded, Message, Usage, Vector

#: How a server is asked for JSON, the strictest way first. One that refuses a way is asked in the next.
FORMATS = ("json_schema", "json_object", "plain")
#: Numbers in the vectors of well-known models; others tell with their first answer.
DIMENSIONS = {
    "text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384, "bge-m3": 1024,
}  # fmt: skip
TEXTS_AT_ONCE = 128
TOKENS_AT_ONCE = 100_000


def with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """For servers that take no schema: it stands in the question."""
    words = f"Answer with one JSON value that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
    return [*messages[:-1], Message(messages[-1].role, f"{messages[-1].content}\n\n{words}")]


class OpenAIChat:
    def __init__(self, client: OpenAIClient, model: str, calls: Calls, price: Price, *, own_server: bool) -> None:
        self.name = f"openai:{model}"
        self._client, self._model, self._calls, self._price = client, model, calls, price
        self._format = FORMATS[0]
        # OpenAI's newer models know only the one name, other servers only the other
        self._limit = "max_tokens" if own_server else "max_completion_tokens"
        self._limits = {"max_tokens", "max_completion_tokens"}
        self._temperature: float | None = 0.0

    async def load(self) -> None:
        await self._client.load()
        await self._calls.load()

    async def chat(self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 4096) -> Answer:
        if schema is None:
            return await self._adapted(messages, None, "plain", max_tokens)
        refusal: ModelRejected | None = None
        for way in FORMATS[FORMATS.index(self._format) :]:
            try:
                answer = await self._adapted(messages, schema, way, max_tokens)
            except ModelRejected as error:
                if error.error_class == "permanent":  # no such model, or no such server
                    raise
                refusal = refusal or error
                continue
            self._format = way
            return answer
        assert refusal is not None
        raise refusal

    async def _adapted(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, way: str, max_tokens: int) -> Answer:
        """Once more without what the server names as a parameter that it does not know."""
        while True:
            try:
                return await self._ask(messages, schema, way, max_tokens)
            except ModelRejected as error:
                if not self._adapt(error.field):
                    raise

    def _adapt(self, field: str) -> bool:
        if field == self._limit and len(self._limits) > 1:
            self._limits.remove(field)
            (self._limit,) = self._limits
            return True
        if field == "temperature" and self._temperature is not None:
            self._temperature = None
            return True
        return False

    async def _ask(self, messages: Sequence[Message], schema: Mapping[str, Any] | None, way: str, max_tokens: int) -> Answer:
        if schema is not None and way != "json_schema":
            messages = with_schema(messages, schema)
        options: dict[str, Any] = {self._limit: max_tokens}
        if way == "json_schema":
            options["response_format"] = {"type": way, "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        elif way == "json_object" and schema is not None:
            options["response_format"] = {"type": way}
        if schema is not None and self._temperature is not None:
            options["temperature"] = self._temperature
        said = [{"role": one.role, "content": one.content} for one in messages]
        texts = [one.content for one in messages]
        sent = most(*texts, json.dumps(schema) if schema else "")

        client, body = self._client.get(), {"model": self._model, "messages": said, **options}

        async def ask() -> Got[Any]:
            # not `client.chat.completions.create`: it walks through every part of the question, a millisecond each time, for
            # values that have to be written in another way; there are none
            found = await client.post("/chat/completions", body=body, cast_to=self._client.answer)
            usage = getattr(found, "usage", None)
            if usage is None:
                return Got(found, likely(*texts), likely(_text(found)))
            return Got(found, int(usage.prompt_tokens or 0), int(usage.completion_tokens or 0))

        call = Call(
            self._model, self._price, ask, lambda found: _check(found, whole=schema is not None),
            self._price.of(sent, max_tokens), likely(*texts), "chat",
        )  # fmt: skip
        found, usage = await self._calls.make(call)
        return Answer(_text(found), usage)


def _text(found: Any) -> str:
    choices = getattr(found, "choices", None)
    return str(choices[0].message.content or "") if choices else ""


def _check(found: Any, *, whole: bool) -> None:
    choices = getattr(found, "choices", None)
    if not choices or getattr(choices[0], "message", None) is None:
        raise ModelGarbled(f"expected an answer with a choice in it, got {str(found)[:200]!r}")
    choice = choices[0]
    if getattr(choice.message, "refusal", None) or choice.finish_reason == "content_filter":
        raise ModelRefusal(f"the model does not answer: {str(choice.message.refusal or 'its filter stopped it')[:300]}")
    if choice.finish_reason == "length" and whole:
        raise ModelTruncated("the answer was cut off at its limit of tokens")
    if not choice.message.content:
        raise ModelGarbled("the answer has no text")


class OpenAIEmbed:
    def __init__(self, client: OpenAIClient, model: str, calls: Calls, price: Price, *, dimensions: int = 0) -> None:
        self.name = f"openai:{model}@{dimensions}" if dimensions else f"openai:{model}"
        self._client, self._model, self._calls, self._price = client, model, calls, price
        self._asked = dimensions
        self._known = dimensions or DIMENSIONS.get(model.removesuffix(":latest"), 0)

    @property
    def dimensions(self) -> int:
        if not self._known:
            raise ModelAway(f"{self.name} has not answered yet: how many numbers its vectors have is not known")
        return self._known

    async def load(self) -> None:
        """Learns from the provider what nobody else knows."""
        await self._client.load()
        await self._calls.load()
        if not self._known:
            with calls_for("dimensions"):
                await self.embed(["dimensions"])

    async def embed(self, texts: Sequence[str]) -> Embedded:
        vectors: list[Vector] = []
        usage = Usage()
        for batch in batches(texts):
            found, spent = await self._batch(batch)
            vectors += [unit(one) for one in found]
            usage += spent
        return Embedded(tuple(vectors), usage)

    async def _batch(self, texts: list[str]) -> tuple[list[Vector], Usage]:
        options: dict[str, Any] = {"dimensions": self._asked} if self._asked else {}

        client = self._client.get()

        async def ask() -> Got[list[Vector]]:
            found = await client.embeddings.create(model=self._model, input=texts, encoding_format="float", **options)
            data = getattr(found, "data", None)
            vectors = [one.embedding for one in sorted(data, key=lambda one: one.index)] if data else []
            usage = getattr(found, "usage", None)
            return Got(vectors, int(usage.prompt_tokens or 0) if usage is not None else likely(*texts), 0)

        def check(vectors: list[Vector]) -> None:
            check_vectors(vectors, len(texts), self._known or None)

        upto = self._price.of(most(*texts), 0)
        call = Call(self._model, self._price, ask, check, upto, likely(*texts), "embed")
        vectors, usage = await self._calls.make(call)
        self._known = self._known or len(vectors[0])
        return vectors, usage


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """As many at once as servers take. A text with nothing in it is refused by some: it becomes a space."""
    batch: list[str] = []
    size = 0
    for text in texts:
        many = likely(text)
        if batch and (len(batch) >= TEXTS_AT_ONCE or size + many > TOKENS_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(text or " ")
        size += many
    if batch:
        yield batch
