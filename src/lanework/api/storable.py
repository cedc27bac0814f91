"""Texts that no column can hold, refused before they get there."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection
from typing import Any

from starlette.requests import Request

from lanework.errors import UnstorableValue

_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


class Storable:
    """PostgreSQL has no NUL in texts, and UTF-8 no lone surrogates: refused in words, whatever field they are in. `cleaned`: fields
    of a JSON body whose texts the route makes storable itself."""

    def __init__(self, cleaned: Collection[str] = ()) -> None:
        self.cleaned = frozenset(cleaned)

    async def __call__(self, request: Request) -> None:
        await _check(request, self.cleaned)


async def _check(request: Request, cleaned: frozenset[str]) -> None:
    if "\0" in request.url.path or "%00" in request.url.query or _has_unstorable(request.path_params):
        raise UnstorableValue("the address has a NUL character in it; no text here can have one")
    body = await request.body() if request.method not in ("GET", "HEAD") else b""
    if b"\\u" in body or b"\xed" in body:
        with contextlib.suppress(ValueError):  # what is no JSON is refused elsewhere
            said = await request.json()
            if _has_unstorable(
                {name: one for name, one in said.items() if name not in cleaned} if isinstance(said, dict) else said
            ):
                raise UnstorableValue("the body has a NUL character or a lone surrogate in it; no text here can have one")


def _has_unstorable(value: Any) -> bool:
    """In any text inside, keys too. Level by level: a body may be as deep as its parser allows."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            if _UNSTORABLE.search(one):
                return True
        elif isinstance(one, dict):
            left += [*one, *one.values()]
        elif isinstance(one, list):
            left += one
    return False
