"""A model provider that answers as OpenAI's and Anthropic's do, with no model in it, and with every fault that a real one has.

    python -m tests.kg.provider --port 0        prints `provider: http://127.0.0.1:PORT` when it is ready

    POST /v1/chat/completions, /v1/embeddings, /v1/messages (streams too), GET /v1/models
    GET /control                what was counted
    POST /control/set           {"latency": 0.2, "allowed": 8, …}, see `Knobs`
    POST /control/faults        a list of `Fault`; the first that fits a call and has times left is done to it
    POST /control/wait          {"calls": 5, "now": 2}: answers when the counts are at least these
    POST /control/reset         as at the start; hanging calls are let go

Answers depend on the request alone: names with capital letters are concepts, names in one sentence are related, texts with the same
words have near vectors. Tests use it by `started()`, which gives a `Provider`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import math
import re
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from typing import Any

RELATIONS = ("SUPPORTS", "CAUSES", "PART_OF", "USES", "REQUIRES", "CONTRADICTS")
STATUS = {"400", "401", "403", "404", "408", "409", "422", "429", "500", "502", "503", "504", "529"}
#: What a fault does to a call; a status above as well.
FAULTS = {
    "hang": "no answer until a reset",
    "close": "the connection is closed before the first byte",
    "reset": "the connection is reset in the middle of the answer",
    "html": "status 200 and a page instead of JSON",
    "garbage": "status 200 and half a JSON document as the body",
    "empty": "no choices, no content, no vectors",
    "no_usage": "the answer does not say what it cost",
    "truncated": "the text ends in the middle, and says so",
    "invalid_json": "the text is no JSON",
    "fenced": "the JSON stands in a markdown fence, with words before it",
    "violation": "the text is JSON of another shape",
    "false_quotes": "quotes that stand nowhere in the text",
    "unknown_ends": "relationships between concepts that are not there",
    "refusal": "the model says no",
    "no_schema": "status 400 for an answer format with a schema",
    "no_format": "status 400 for any answer format",
    "slow": "the answer comes in bits, `seconds` apart",
    "vector_count": "one vector too few",
    "vector_size": "one vector is shorter than the others",
    "nan": "a vector with a NaN in it",
    "zero": "a vector of zeros",
}


@dataclass
class Knobs:
    latency: float = 0.0  # seconds that each call takes
    allowed: int = 0  # calls at a time; one more is answered with 429; 0: any number
    dimensions: int = 64
    key: str = ""  # the only key that is taken; none: any


@dataclass
class Fault:
    fault: str
    times: int | None = 1  # None: always
    every: int = 1  # each so-manieth call that fits
    path: str = ""  # calls whose path has this in it
    match: str = ""  # calls whose body has this in it
    retry_after: str | float | None = None  # for a status: the header
    seconds: float = 0.05
    seen: int = 0

    def fits(self, path: str, body: str) -> bool:
        if self.path not in path or self.match not in body or self.times == 0:
            return False
        self.seen += 1
        if self.seen % self.every:
            return False
        self.times = None if self.times is None else self.times - 1
        return True


@dataclass
class Counts:
    calls: int = 0
    ok: int = 0
    now: int = 0
    most: int = 0  # at a time
    gone: int = 0  # callers who left before their answer
    again: int = 0  # chats about a text that one before has had an answer about: paid twice
    paths: dict[str, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    tokens_in: int = 0  # of all answers that were made, whether or not they arrived: what is on the bill
    tokens_out: int = 0
    busy: float = 0.0  # seconds, summed over the calls under way
    span: float = 0.0  # seconds from the first call's start to the last one's end


def tokens(text: str) -> int:
    return max(1, math.ceil(len(text) / 4))


def _number(*words: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(words).encode()).digest()[:8], "big")


def vector(text: str, dimensions: int) -> list[float]:
    """A hashed bag of words of length one."""
    found = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or ["nothing"]:
        spot = _number(word)
        found[spot % dimensions] += 1.0 if spot & 1 << 40 else -1.0
    if not any(found):
        found[0] = 1.0
    length = math.sqrt(sum(one * one for one in found))
    return [one / length for one in found]


def extraction(text: str) -> dict[str, Any]:
    concepts: dict[str, dict[str, Any]] = {}
    instances: list[dict[str, Any]] = []
    relationships: dict[tuple[str, str], dict[str, Any]] = {}
    for sentence in re.findall(r"[^.!?\n]+[.!?]?", text):
        quote = sentence.strip()
        names = list(dict.fromkeys(re.findall(r"[A-Z][\w-]+(?: [A-Z][\w-]+)*", quote)))[:6]
        for name in names:
            if name not in concepts and len(concepts) < 30:
                concepts[name] = {
                    "key": f"c{len(concepts)}", "label": name, "type": "thing", "description": quote[:200],
                    "search_terms": [name.lower()],
                }  # fmt: skip
            if name in concepts:
                instances.append({"concept_key": concepts[name]["key"], "quote": quote})
        known = [concepts[name]["key"] for name in names if name in concepts]
        for one, other in pairwise(known):
            relationships.setdefault((one, other), {
                "from_key": one, "to_key": other, "type": RELATIONS[_number(one, other, quote) % len(RELATIONS)],
                "direction": "forward", "confidence": 0.5 + _number(quote) % 50 / 100,
            })  # fmt: skip
    return {"concepts": list(concepts.values()), "instances": instances, "relationships": list(relationships.values())}


def example(schema: dict[str, Any]) -> Any:
    """Something that fits a schema, without much in it."""
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: example(one) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "string": "text", "number": 0.5, "integer": 1, "boolean": True}.get(kind or "")


def document_of(prompt: str) -> str:
    """The text that a prompt puts between `<text …>` and `</text …>`, else all of it."""
    found = re.search(r"<(text[^<>]*)>\n?(.*?)\n?</\1>", prompt, re.DOTALL)
    return found[2] if found else prompt


def answer_to(prompt: str, schema: dict[str, Any] | None) -> str:
    if schema is None:
        return "It says: " + " ".join(document_of(prompt).split()[:30])
    if "concepts" in schema.get("properties", {}):
        return json.dumps(extraction(document_of(prompt)), ensure_ascii=False)
    return json.dumps(example(schema))


def spoil(text: str, fault: str) -> str:
    """The answer with a fault in its text."""
    if fault == "truncated":
        return text[: len(text) // 2]
    if fault == "invalid_json":
        return "Certainly! {concepts: none"
    if fault == "fenced":
        return f"Here it is:\n```json\n{text}\n```"
    if fault == "violation":
        return json.dumps({"concepts": {"key": 7}, "found": "nothing"})
    if fault in ("false_quotes", "unknown_ends"):
        value = json.loads(text)
        for one in value.get("instances", []) if fault == "false_quotes" else ():
            one["quote"] = f"Nobody ever wrote this {one['quote'][::-1]}"
        for one in value.get("relationships", []) if fault == "unknown_ends" else ():
            one["to_key"] = "nowhere"
        return json.dumps(value)
    return text


class Gone(Exception):
    """The connection is to be left without another byte."""


class Server:
    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        self.knobs, self.faults, self.counts = Knobs(), list[Fault](), Counts()
        self.released, self.changed = asyncio.Event(), asyncio.Condition()
        self._first, self._last = 0.0, 0.0
        self._answered = set[str]()  # texts

    # HTTP

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            ahead: bytes | None = b""
            while ahead is not None:
                ahead = await self.request(ahead, reader, writer)
        except (Gone, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def request(self, ahead: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """Answers one request, and what it has read of the next; None: there is none."""
        head = (ahead + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ", 2)
        ahead = b""
        if path.startswith("/control"):
            await self.control(path, json.loads(body or b"null"), writer)
        else:
            ahead = await self.call(method, path, headers, body, reader, writer)
        return None if headers.get("connection", "").lower() == "close" else ahead

    async def respond(
        self, writer: asyncio.StreamWriter, status: int, value: Any, *, kind: str = "application/json", **headers: str
    ) -> None:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        lines = [f"HTTP/1.1 {status} -", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {one}" for name, one in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        await writer.drain()

    # control

    async def control(self, path: str, value: Any, writer: asyncio.StreamWriter) -> None:
        if path == "/control/set":
            known = {one.name for one in fields(Knobs)}
            if unknown := set(value) - known:
                return await self.respond(writer, 400, {"error": f"unknown {sorted(unknown)}, known {sorted(known)}"})
            for name, one in value.items():
                setattr(self.knobs, name, one)
        elif path == "/control/faults":
            faults = [Fault(**one) for one in value]
            if unknown := {one.fault for one in faults} - FAULTS.keys() - STATUS:
                return await self.respond(writer, 400, {"error": f"unknown {sorted(unknown)}, known {sorted([*FAULTS, *STATUS])}"})
            self.faults = faults
        elif path == "/control/wait":
            async with self.changed:
                await self.changed.wait_for(lambda: all(getattr(self.counts, name) >= least for name, least in value.items()))
        elif path == "/control/reset":
            self.released.set()
            async with self.changed:
                self.changed.notify_all()
            while self.counts.now:
                await asyncio.sleep(0.005)
            self.start_anew()
        return await self.respond(writer, 200, asdict(self.counts))

    # calls

    async def call(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes:
        counts = self.counts
        started = time.monotonic()
        self._first = self._first or started
        counts.calls, counts.now = counts.calls + 1, counts.now + 1
        counts.paths[path] = counts.paths.get(path, 0) + 1
        over = bool(self.knobs.allowed) and counts.now > self.knobs.allowed
        counts.most = max(counts.most, counts.now)
        await self._tell()
        work = asyncio.ensure_future(self._answer(method, path, headers, body, over, writer))
        left = asyncio.ensure_future(reader.read(1))  # nothing comes while a caller waits, but its end
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                counts.gone += 1
                raise Gone
            work.result()
            left.cancel()
            await asyncio.wait({left})
            return b"" if left.cancelled() else left.result()
        finally:
            work.cancel()
            left.cancel()
            self._last = time.monotonic()
            counts.now -= 1
            counts.busy += self._last - started
            counts.span = self._last - self._first
            await self._tell()

    async def _tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()

    async def _answer(
        self, method: str, path: str, headers: dict[str, str], body: bytes, over: bool, writer: asyncio.StreamWriter
    ) -> None:
        text = body.decode(errors="replace")
        fault = next((one for one in self.faults if one.fits(path, text)), None)
        if fault is not None:
            self.counts.faults[fault.fault] = self.counts.faults.get(fault.fault, 0) + 1
        if self.knobs.latency:
            await asyncio.sleep(self.knobs.latency)
        if over:
            self.counts.faults["over"] = self.counts.faults.get("over", 0) + 1
            return await self._refuse(writer, 429, None)
        if self.knobs.key and self.knobs.key not in (
            headers.get("x-api-key"),
            headers.get("authorization", "").removeprefix("Bearer "),
        ):
            return await self._refuse(writer, 401, None, f"Incorrect API key provided: {headers.get('authorization')}")
        if fault is not None and fault.fault in STATUS:
            return await self._refuse(writer, int(fault.fault), fault.retry_after)
        name = fault.fault if fault else ""
        if name == "hang":
            await self.released.wait()
            raise Gone
        if name == "close":
            raise Gone
        if path == "/v1/models" and method == "GET":
            return await self.respond(writer, 200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})
        if method != "POST" or path not in ("/v1/chat/completions", "/v1/embeddings", "/v1/messages"):
            return await self._refuse(writer, 404, None)
        request = json.loads(text)
        if self._format_of(request) in {"no_schema": ("json_schema",), "no_format": ("json_schema", "json_object")}.get(name, ()):
            return await self._refuse(writer, 400, None, "response_format is not supported")
        return await self._good(path, request, name, fault, writer)

    def _format_of(self, request: dict[str, Any]) -> str:
        found = request.get("response_format") or (request.get("output_config") or {}).get("format") or {}
        return str(found.get("type", ""))

    async def _refuse(self, writer: asyncio.StreamWriter, status: int, after: str | float | None, words: str = "") -> None:
        error = {"type": "error", "message": words or f"the fake provider answers {status}", "code": f"fake_{status}"}
        headers = {} if after is None else {"Retry_After": str(after)}
        await self.respond(writer, status, {"type": "error", "error": error}, **headers)

    async def _good(self, path: str, request: dict[str, Any], name: str, fault: Fault | None, writer: asyncio.StreamWriter) -> None:
        if path == "/v1/embeddings":
            value = embeddings(request, name, self.knobs.dimensions)
        else:
            value = chat_completion(request, name) if path == "/v1/chat/completions" else anthropic_message(request, name)
            asked = document_of(prompt_of(request))
            self.counts.again += asked in self._answered
            self._answered.add(asked)
        usage = value.pop("usage") if name == "no_usage" else value.get("usage", {})
        self.counts.tokens_in += int(usage.get("prompt_tokens", usage.get("input_tokens", 0)))
        self.counts.tokens_out += int(usage.get("completion_tokens", usage.get("output_tokens", 0)))
        if name == "html":
            return await self.respond(writer, 200, b"<html><body>Bad gateway, said politely</body></html>", kind="text/html")
        if name == "garbage":
            body = json.dumps(value).encode()
            return await self.respond(writer, 200, body[: len(body) // 2])
        if name == "reset":
            body = json.dumps(value).encode()
            writer.write(f"HTTP/1.1 200 -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            writer.write(body[: len(body) // 2])
            await writer.drain()
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise Gone
        pause = fault.seconds if fault and name == "slow" else 0.0
        if request.get("stream"):
            await self._stream(path, value, pause, writer)
        elif pause:
            await self._in_bits(json.dumps(value).encode(), pause, writer)
        else:
            await self.respond(writer, 200, value)
        self.counts.ok += 1
        if request.get("stream"):
            raise Gone  # the end of the connection is the end of the stream
        return None

    async def _in_bits(self, body: bytes, pause: float, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 -\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for start in range(0, len(body), max(1, len(body) // 10)):
            writer.write(body[start : start + max(1, len(body) // 10)])
            await writer.drain()
            await asyncio.sleep(pause)

    async def _stream(self, path: str, value: dict[str, Any], pause: float, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 -\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
        async for event in (_openai_events if path == "/v1/chat/completions" else _anthropic_events)(value):
            writer.write(event.encode())
            await writer.drain()
            await asyncio.sleep(pause)


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


def _text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _cut(text: str, most: int | None) -> tuple[str, bool]:
    """A model stops at the most tokens that it was allowed."""
    return (text[: most * 4], True) if most is not None and tokens(text) > most else (text, False)


def prompt_of(request: dict[str, Any]) -> str:
    return next((_text_of(one["content"]) for one in request["messages"] if one["role"] == "user"), "")


def chat_completion(request: dict[str, Any], fault: str) -> dict[str, Any]:
    prompt = prompt_of(request)
    wanted = request.get("response_format") or {}
    schema = wanted["json_schema"]["schema"] if wanted.get("type") == "json_schema" else None
    if schema is None and (wanted.get("type") == "json_object" or "concepts" in "".join(map(str, request["messages"]))):
        schema = {"properties": {"concepts": {}}}
    text, cut = _cut(spoil(answer_to(prompt, schema), fault), request.get("max_completion_tokens") or request.get("max_tokens"))
    cut = cut or fault == "truncated"
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if fault == "refusal":
        message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    sent = sum(tokens(_text_of(one["content"])) for one in request["messages"])
    choices = [{"index": 0, "message": message, "finish_reason": "length" if cut else "stop", "logprobs": None}]
    return {
        "id": f"chat-{_number(prompt):x}", "object": "chat.completion", "created": 0, "model": request["model"],
        "choices": [] if fault == "empty" else choices,
        "usage": {"prompt_tokens": sent, "completion_tokens": tokens(text), "total_tokens": sent + tokens(text)},
    }  # fmt: skip


def anthropic_message(request: dict[str, Any], fault: str) -> dict[str, Any]:
    prompt = prompt_of(request)
    wanted = (request.get("output_config") or {}).get("format")
    tool = (request.get("tools") or [None])[0]
    schema = wanted["schema"] if wanted else tool["input_schema"] if tool else None
    if schema is None and "concepts" in _text_of(request.get("system")):
        schema = {"properties": {"concepts": {}}}
    text, cut = _cut(spoil(answer_to(prompt, schema), fault), request["max_tokens"])
    cut = cut or fault == "truncated"
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if tool and not wanted and fault not in ("invalid_json", "fenced", "truncated") and not cut:
        content = [{"type": "tool_use", "id": "tool_1", "name": tool["name"], "input": json.loads(text)}]
    stop = (
        "refusal" if fault == "refusal" else "max_tokens" if cut else "tool_use" if content[0]["type"] == "tool_use" else "end_turn"
    )
    sent = tokens(_text_of(request.get("system"))) + sum(tokens(_text_of(one["content"])) for one in request["messages"])
    return {
        "id": f"msg_{_number(prompt):x}", "type": "message", "role": "assistant", "model": request["model"],
        "content": [] if fault in ("empty", "refusal") else content, "stop_reason": stop, "stop_sequence": None,
        "usage": {"input_tokens": sent, "output_tokens": tokens(text)},
    }  # fmt: skip


async def _openai_events(value: dict[str, Any]) -> AsyncIterator[str]:
    base = {"id": value["id"], "object": "chat.completion.chunk", "created": 0, "model": value["model"]}
    choice = (value["choices"] or [None])[0]
    if choice is not None:
        for word in re.findall(r"\s*\S+\s*", choice["message"]["content"] or ""):
            delta = {"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None}
            yield f"data: {json.dumps({**base, 'choices': [delta]})}\n\n"
        yield f"data: {json.dumps({**base, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': choice['finish_reason']}]})}\n\n"
    yield f"data: {json.dumps({**base, 'choices': [], 'usage': value.get('usage')})}\n\ndata: [DONE]\n\n"


async def _anthropic_events(value: dict[str, Any]) -> AsyncIterator[str]:
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


async def serve(port: int) -> None:
    server = await asyncio.start_server(Server().connection, "127.0.0.1", port, limit=1 << 26)
    print(f"provider: http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


# for tests


@dataclass
class Provider:
    """A started one. `url` is what `KG_ANTHROPIC_URL` takes, `url + "/v1"` what `KG_OPENAI_URL` takes."""

    url: str

    @property
    def openai(self) -> str:
        return f"{self.url}/v1"

    def _ask(self, path: str, value: Any = None, timeout: float = 30) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}{path}", data=None if value is None else json.dumps(value).encode())
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def set(self, **knobs: Any) -> None:
        self._ask("/control/set", knobs)

    def fail(self, *faults: Fault | str, **more: Any) -> None:
        """These faults, in this order, and no others."""
        self._ask("/control/faults", [asdict(Fault(one, **more) if isinstance(one, str) else one) for one in faults])

    def counts(self) -> Counts:
        return Counts(**self._ask("/control"))

    def wait(self, **least: int) -> Counts:
        """Until this many were counted: `wait(now=2)`, `wait(calls=5)`."""
        return Counts(**self._ask("/control/wait", least, timeout=300))

    def reset(self) -> None:
        self._ask("/control/reset", {})


@contextmanager
def started() -> Iterator[Provider]:
    """A provider in a process of its own."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kg.provider", "--port", "0"], stdout=subprocess.PIPE, cwd=root, text=True
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("provider: "), line
        yield Provider(line.split()[1])
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    try:
        asyncio.run(serve(parser.parse_args().port))
    except KeyboardInterrupt:
        sys.exit(0)
