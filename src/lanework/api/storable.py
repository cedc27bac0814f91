"""Texts that no column can hold, refused before they get there."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from starlette.requests import Request

from lanework.errors import UnstorableValue

_UNSTORABLE = re.compile(r"[\0\ud800-\udfff]")


async def storable(request: Request) -> None:
    """PostgreSQL has no NUL in texts, and UTF-8 no lone surrogates: refused in words, whatever field they are in."""
    if "\0" in request.url.path or "%00" in request.url.query or _has_unstorable(request.path_params):
        raise UnstorableValue("the address has a NUL character in it; no text here can have one")
    body = await request.body() if request.method not in ("GET", "HEAD") else b""
    if b"\\u" in body or b"\xed" in body:
        with contextlib.suppress(ValueError):  # what is no JSON is refused elsewhere
            if _has_unstorable(await request.json()):
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
