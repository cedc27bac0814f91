"""Bugs of a worker that fetches, for `test_fetch_kills.py`: `KG_IMPORTS` brings them into it, `FETCH_PLANT` names the one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import Any

from kg._store import documents, verb
from kg._store.transaction import Block, fenced
from kg.ingest.arrival import Arrival, Arriving

FETCHED = (b"awaits_fetch = false", b"awaits_fetch = true")


def noted_before_it_came() -> None:
    """That an address was asked is stored first, and believed by whoever comes next."""

    async def arrive(self: Any) -> Arrival:
        asks = []

        async def ask() -> None:
            asks.append(self)

        await self._ctx.astep("asked", ask)
        return await right(self) if asks else Arrival()

    right = Arriving.arrive
    Arriving.arrive = arrive  # type: ignore[method-assign]


def halves_are_kept() -> None:
    """What has come of a page is stored before the rest has."""

    async def _arrive(self: Any) -> Arrival:
        async def act(tx: Block) -> None:
            half = f"half a page of attempt {self._ctx.attempt}".encode()
            await tx.run(documents.put_blob(hashlib.sha256(half).digest(), half))

        await fenced(self._ctx, act)
        return await right(self)

    right = Arriving._arrive
    Arriving._arrive = _arrive  # type: ignore[method-assign]


def asked_by_each_job() -> None:
    """Nobody notes that the page is there: neither the document nor the estimate's step, which its run shares."""

    def query(name: str) -> bytes:
        found = right(name)
        assert name != "fetched_document" or FETCHED[0] in found
        return found.replace(*FETCHED) if name == "fetched_document" else found

    right = verb.query
    verb.query = query  # type: ignore[assignment]
    Arriving.arrive = Arriving._arrive  # type: ignore[method-assign]


PLANTS: dict[str, Callable[[], None]] = {one.__name__: one for one in (noted_before_it_came, halves_are_kept, asked_by_each_job)}

if name := os.environ.get("FETCH_PLANT"):
    PLANTS[name]()
