"""The running server, asked over HTTP: KG_URL and KG_TOKEN, else what `kg up` has noted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import httpx2

from kg.cli.house import read_note
from kg.errors import AccessNotFound, KgError, NotAuthenticated, Refused, ServerAway, TooMany
from lanework.errors import ConfigError

DEFAULT_URL = "http://127.0.0.1:8000"


def ask(method: str, path: str, *, timeout: float = 30.0, plain: bool = False, **more: Any) -> Any:
    url, token = _where()
    with _reached(url):
        answer = httpx2.request(method, url + path, headers={"Authorization": f"Bearer {token}"}, timeout=timeout, **more)
    if answer.is_success:
        return answer.text if plain else answer.json() if answer.content else None
    raise _error(answer)


def fetch(path: str, into: BinaryIO, **more: Any) -> None:
    """A file, as it comes."""
    url, token = _where()
    with (
        _reached(url),
        httpx2.stream("GET", url + path, headers={"Authorization": f"Bearer {token}"}, timeout=60, **more) as answer,
    ):
        if not answer.is_success:
            answer.read()
            raise _error(answer)
        for piece in answer.iter_bytes():
            into.write(piece)


@contextmanager
def _reached(url: str) -> Iterator[None]:
    try:
        yield
    except httpx2.InvalidURL:
        raise ConfigError(f"KG_URL: expected an address like {DEFAULT_URL}, got {url!r}") from None
    except httpx2.HTTPError as error:
        raise ServerAway(f"no server answers at {url} ({error}); start one with `kg up`, or say where it is with KG_URL") from None


def _where() -> tuple[str, str]:
    note = read_note()
    url = (os.environ.get("KG_URL") or note.get("url") or DEFAULT_URL).rstrip("/")
    # the token of this machine's server is for it alone
    token = os.environ.get("KG_TOKEN") or (note.get("token") if url == note.get("url") else None)
    if not token:
        raise ConfigError(f"KG_TOKEN: there is no token for {url}; make one with `kg tokens create USER`, or start `kg up`")
    return url, token


def _error(answer: httpx2.Response) -> KgError:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = f"the answer was {answer.status_code}"
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        return NotAuthenticated(f"{detail}; is KG_TOKEN right? `kg tokens create USER` makes another one")
    if answer.status_code == httpx2.codes.TOO_MANY_REQUESTS:
        wait = answer.headers.get("retry-after", "1")
        return TooMany(detail, retry_after=int(wait) if wait.isdecimal() else 1)
    return (AccessNotFound if answer.status_code == httpx2.codes.NOT_FOUND else Refused)(detail)
