"""The same Idempotency-Key gets the same answer: for POSTs that create something other than a job. (Jobs have keys of their own,
stored with the job.)"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from fastapi import Request
from starlette.requests import Request as Incoming
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kg.access.answers import Answers, Kept
from kg.api.door import Door
from lanework.api import problems
from lanework.errors import LaneworkError

#: What an answer may say once only.
_SECRET = "secret"  # noqa: S105 - the name of a field


class Replays:
    def __init__(self, app: ASGIApp, answers: Answers, door: Door, creates: Callable[[str], bool]) -> None:
        self.app, self.answers, self.door, self.creates = app, answers, door, creates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not self.creates(scope["path"]):
            await self.app(scope, receive, send)
            return
        request = Incoming(scope, receive)
        key = request.headers.get("idempotency-key")
        if key is None:
            await self.app(scope, receive, send)
            return
        try:
            await self._once(request, key, send)
        except LaneworkError as error:
            await (await problems.ours(request, error))(scope, receive, send)

    async def _once(self, request: Request, key: str, send: Send) -> None:
        owner = (await self.door(request)).name
        body, route = await request.body(), request.url.path
        hash = hashlib.sha256(body).digest()
        kept = await self.answers.begin(owner, key, route, hash)
        if kept is None:
            await self._answer(request, body, owner, key, send)
        else:
            answer = Response(kept.body, kept.status, {"Idempotency-Replayed": "true"}, "application/json")
            await answer(request.scope, _nothing, send)

    async def _answer(self, request: Request, body: bytes, owner: str, key: str, send: Send) -> None:
        told = _Told()
        sent = False

        async def again() -> Message:
            nonlocal sent
            if sent:
                return await request.receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        try:
            await self.app(request.scope, again, told)
        finally:
            if 200 <= told.status < 300:
                await self.answers.end(owner, key, Kept(told.status, _without_secret(told.body)))
            else:
                await self.answers.drop(owner, key)
        for message in told.messages:  # stored first: who has the answer will get it again
            await send(message)


class _Told:
    """Keeps an answer back."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def __call__(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"]) if self.messages else 0

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.messages[1:])


def _without_secret(body: bytes) -> str:
    found: Any = json.loads(body) if body else None
    if isinstance(found, dict) and _SECRET in found:
        found = {**found, _SECRET: None}
    return json.dumps(found)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
