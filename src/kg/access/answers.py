"""Answers that are kept under an Idempotency-Key: the same request gets the same one."""

from __future__ import annotations

from typing import NamedTuple

from kg._store.answers import begin_answer, drop_answer, end_answer
from kg.errors import KeyReused
from lanework import Lanework


class Kept(NamedTuple):
    status: int
    body: str


class Answers:
    def __init__(self, work: Lanework) -> None:
        self._work = work

    async def begin(self, owner: str, key: str, route: str, hash: bytes) -> Kept | None:
        """None: nobody has answered it yet, and it is the caller's to do."""
        if not 1 <= len(key) <= 200:
            raise KeyReused(f"Idempotency-Key: expected 1 to 200 characters, got {len(key)}")
        ours, was_route, was_hash, status, stored = await self._work._arun(begin_answer(owner, key, route, hash))
        if ours:
            return None
        if (was_route, was_hash) != (route, hash):
            raise KeyReused("this Idempotency-Key belongs to another request")
        if status is None:
            raise KeyReused("a request with this Idempotency-Key is still at work; ask again in a moment")
        return Kept(status, stored)

    async def end(self, owner: str, key: str, answer: Kept) -> None:
        await self._work._arun(end_answer(owner, key, answer.status, answer.body))

    async def drop(self, owner: str, key: str) -> None:
        await self._work._arun(drop_answer(owner, key))
