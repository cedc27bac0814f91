"""Answers in the shapes of the two protocols, with the faults that are in a shape."""

from __future__ import annotations

import base64
import json
import math
import re
import struct
from collections.abc import AsyncIterator
from typing import Any

from tests.kg.provider.answers import answer_to, number_of, spoil, tokens, vector


def embeddings(request: dict[str, Any], fault: str, dimensions: int) -> dict[str, Any]:
    texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
    vectors = [vector(text, request.get("dimensions") or dimensions) for text in texts]
    if fault == "empty":
        vectors = []
    elif fault == "vector_count":
        vectors = vectors[:-1]
    elif fault == "vector_size":
        vectors[-1] = vectors[-1][:-1]
    elif fault in ("nan", "zero"):
        vectors[-1] = [math.nan if fault == "nan" else 0.0] * len(vectors[-1])
    encode = _base64 if request.get("encoding_format") == "base64" else _plain
    data = [{"object": "embedding", "index": number, "embedding": encode(one)} for number, one in enumerate(vectors)]
    spent = sum(tokens(text) for text in texts)
    return {"object": "list", "model": request["model"], "data": data, "usage": {"prompt_tokens": spent, "total_tokens": spent}}


def _base64(one: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(one)}f", *one)).decode()


def _plain(one: list[float]) -> list[float]:
    return one


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def cut_off(text: str, most: int | None) -> tuple[str, bool]:
    """A model stops at the most tokens that it was allowed."""
    return (text[: most * 4], True) if most is not None and tokens(text) > most else (text, False)


def prompt_of(request: dict[str, Any]) -> str:
    return next((text_of(one["content"]) for one in request["messages"] if one["role"] == "user"), "")


def chat_completion(request: dict[str, Any], fault: str) -> dict[str, Any]:
    prompt = prompt_of(request)
    wanted = request.get("response_format") or {}
    schema = wanted["json_schema"]["schema"] if wanted.get("type") == "json_schema" else None
    if schema is None and (wanted.get("type") == "json_object" or "concepts" in "".join(map(str, request["messages"]))):
        schema = {"properties": {"concepts": {}}}
    text, cut = cut_off(spoil(answer_to(prompt, schema), fault), request.get("max_completion_tokens") or request.get("max_tokens"))
    cut = cut or fault == "truncated"
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if fault == "refusal":
        message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    sent = sum(tokens(text_of(one["content"])) for one in request["messages"])
    choices = [{"index": 0, "message": message, "finish_reason": "length" if cut else "stop", "logprobs": None}]
    return {
        "id": f"chat-{number_of(prompt):x}", "object": "chat.completion", "created": 0, "model": request["model"],
        "choices": [] if fault == "empty" else choices,
        "usage": {"prompt_tokens": sent, "completion_tokens": tokens(text), "total_tokens": sent + tokens(text)},
    }  # fmt: skip


def anthropic_message(request: dict[str, Any], fault: str) -> dict[str, Any]:
    prompt = prompt_of(request)
    wanted = (request.get("output_config") or {}).get("format")
    tool = (request.get("tools") or [None])[0]
    schema = wanted["schema"] if wanted else tool["input_schema"] if tool else None
    if schema is None and "concepts" in text_of(request.get("system")):
        schema = {"properties": {"concepts": {}}}
    text, cut = cut_off(spoil(answer_to(prompt, schema), fault), request["max_tokens"])
    cut = cut or fault == "truncated"
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if tool and not wanted and fault not in ("invalid_json", "fenced", "truncated") and not cut:
        content = [{"type": "tool_use", "id": "tool_1", "name": tool["name"], "input": json.loads(text)}]
    stop = (
        "refusal" if fault == "refusal" else "max_tokens" if cut else "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
    )
    sent = tokens(text_of(request.get("system"))) + sum(tokens(text_of(one["content"])) for one in request["messages"])
    return {
        "id": f"msg_{number_of(prompt):x}", "type": "message", "role": "assistant", "model": request["model"],
        "content": [] if fault in ("empty", "refusal") else content, "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": sent, "output_tokens": tokens(text)},
    }  # fmt: skip


async def openai_events(value: dict[str, Any]) -> AsyncIterator[str]:
    base = {"id": value["id"], "object": "chat.completion.chunk", "created": 0, "model": value["model"]}
    choice = (value["choices"] or [None])[0]
    if choice is not None:
        for word in re.findall(r"\s*\S+\s*", choice["message"]["content"] or ""):
            delta = {"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}
            yield f"data: {json.dumps({**base, 'choices': [delta]})}\n\n"
        yield f"data: {json.dumps({**base, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': choice['finish_reason']}]})}\n\n"
    yield f"data: {json.dumps({**base, 'choices': [], 'usage': value.get('usage')})}\n\ndata: [DONE]\n\n"


async def anthropic_events(value: dict[str, Any]) -> AsyncIterator[str]:
    def event(kind: str, **more: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n"

    yield event("message_start", message={**value, "content": [], "stop_reason": None})
    for number, block in enumerate(value["content"]):
        yield event("content_block_start", index=number, content_block={"type": "text", "text": ""})
        for word in re.findall(r"\s*\S+\s*", block.get("text", "")):
            yield event("content_block_delta", index=number, delta={"type": "text_delta", "text": word})
        yield event("content_block_stop", index=number)
    yield event("message_delta", delta={"stop_reason": value["stop_reason"], "stop_sequence": None}, usage=value.get("usage"))
    yield event("message_stop")
