"""Requests as they come: `curl -d` without a Content-Type is JSON, and a body has a limit."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lanework.api.problems import problem

_FORM = b"application/x-www-form-urlencoded"


class JsonBodies:
    """What `curl -d '{…}'` sends is called a form; nothing here takes forms, so it is read as JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            kept = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
            given = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
            if not given or given.startswith(_FORM):
                scope = {**scope, "headers": [*kept, (b"content-type", b"application/json")]}
        await self.app(scope, receive, send)


class BodyLimit:
    """Refuses bodies that are too large, by their length where it is told and by counting where it is not. `larger`: paths
    with a limit of their own; `codes`: what an application calls the error on a path."""

    def __init__(
        self, app: ASGIApp, limit: int, larger: Mapping[str, int] | None = None, codes: Mapping[str, str] | None = None
    ) -> None:
        self.app, self.limit, self.larger, self.codes = app, limit, larger or {}, codes or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = self.larger.get(scope["path"], self.limit)
        told = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
        if told.isdigit() and int(told) > limit:
            await self._refuse(scope, receive, send, limit)
            return
        counter = _Counter(receive, limit)

        async def tell(message: Message) -> None:
            if not counter.exceeded:  # what the application makes of a body that broke off is not the answer
                await send(message)

        with contextlib.suppress(_TooLarge):
            await self.app(scope, counter.receive, tell)
        if counter.exceeded:
            await self._refuse(scope, receive, send, limit)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        code = self.codes.get(scope["path"], "")
        answer = problem(413, f"the body is larger than {limit:,} bytes", code=code, headers={"Connection": "close"})
        await answer(scope, receive, send)


class _TooLarge(Exception):
    pass


class _Counter:
    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._left = receive, limit

    @property
    def exceeded(self) -> bool:
        return self._left < 0

    async def receive(self) -> Any:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self.exceeded:
            raise _TooLarge
        return message
