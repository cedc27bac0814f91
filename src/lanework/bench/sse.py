"""A small client of server-sent events: many streams in one event loop, and nothing between it and the bytes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Message:
    """One event as it came. `id` is what goes into Last-Event-ID."""

    id: str
    kind: str
    data: Any


class Refused(Exception):
    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(f"{status}: {body[:300]!r}")
        self.status, self.body = status, body


class Stream:
    """`async for message in stream`; `last_id` is where to go on, marks without an event included. `cut`: it ended without the
    end of its body."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._held = b""
        self.last_id: str | None = None
        self.cut = False
        self.comments = 0

    def close(self) -> None:
        self._writer.close()

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Message:
        while (message := self._parsed(await self.block())) is None:
            pass
        return message

    async def block(self) -> str:
        while b"\n\n" not in self._held:
            self._held += await self._chunk()
        text, _, self._held = self._held.partition(b"\n\n")
        return text.decode()

    async def _chunk(self) -> bytes:
        try:
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            data = await self._reader.readexactly(size + 2)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.cut = True
            size = 0
        if not size:
            self.close()
            raise StopAsyncIteration
        return data[:-2]

    async def begin(self) -> Stream:
        """The first thing that it says is where it begins."""
        self._parsed(await self.block())
        return self

    def _parsed(self, text: str) -> Message | None:
        fields: dict[str, str] = {}
        for line in text.split("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        self.comments += "" in fields
        self.last_id = fields.get("id", self.last_id)
        return Message(fields.get("id", ""), fields.get("event", ""), json.loads(fields["data"])) if "data" in fields else None


async def follow(port: int, path: str, *, token: str = "", after: str | None = None, limit: int = 2**16) -> Stream:
    """`limit`: how much the client reads ahead."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
    headers = ["Host: localhost", "Accept: text/event-stream"]
    headers += [f"Authorization: Bearer {token}"] if token else []
    headers += [f"Last-Event-ID: {after}"] if after is not None else []
    writer.write("\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    status = int(head.split(" ", 2)[1])
    if status == 200:
        return await Stream(reader, writer).begin()
    length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
    body = await reader.readexactly(length)
    writer.close()
    raise Refused(status, body)
