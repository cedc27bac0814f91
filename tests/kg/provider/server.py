"""The server: connections, control and calls."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from dataclasses import asdict, fields
from typing import Any

from tests.kg.provider.answers import document_of
from tests.kg.provider.orders import FAULTS, STATUS, Counts, Fault, Knobs
from tests.kg.provider.shapes import anthropic_events, anthropic_message, chat_completion, embeddings, openai_events, prompt_of


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
        async for event in (openai_events if path == "/v1/chat/completions" else anthropic_events)(value):
            writer.write(event.encode())
            await writer.drain()
            await asyncio.sleep(pause)


async def serve(port: int) -> None:
    server = await asyncio.start_server(Server().connection, "127.0.0.1", port, limit=1 << 26)
    print(f"provider: http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()
