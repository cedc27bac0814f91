"""The running server, asked over HTTP: KG_URL and KG_TOKEN, else what `kg up` has noted."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, BinaryIO

import httpx2

from kg import errors
from kg.cli.note import read_note
from kg.errors import AccessNotFound, KgError, NotAuthenticated, Refused, ServerAway, TooMany, WrongRequest
from lanework.errors import ConfigError

DEFAULT_URL = "http://127.0.0.1:8000"
_making = threading.Lock()


def ask(method: str, path: str, *, timeout: float = 30.0, plain: bool = False, **more: Any) -> Any:
    url, token = _where()
    with _reached(url):
        answer = _client().request(method, url + path, headers={"Authorization": f"Bearer {token}"}, timeout=timeout, **more)
    if answer.is_success:
        return answer.text if plain else answer.json() if answer.content else None
    raise _error(answer)


def fetch(path: str, into: BinaryIO, **more: Any) -> None:
    """A file, as it comes."""
    url, token = _where()
    with (
        _reached(url),
        _client().stream("GET", url + path, headers={"Authorization": f"Bearer {token}"}, timeout=60, **more) as answer,
    ):
        if not answer.is_success:
            answer.read()
            raise _error(answer)
        for piece in answer.iter_bytes():
            into.write(piece)


def _client() -> httpx2.Client:
    """One for the process, and for its threads: making one costs more than most requests."""
    with _making:
        return _the_client()


@cache
def _the_client() -> httpx2.Client:
    client = httpx2.Client()
    atexit.register(client.close)
    return client


@contextmanager
def _reached(url: str) -> Iterator[None]:
    try:
        yield
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        raise ConfigError(f"KG_URL: expected an address like {DEFAULT_URL}, got {url!r}") from None
    except httpx2.ConnectError as error:
        raise ServerAway(f"no server answers at {url} ({error}); start one with `kg up`, or say where it is with KG_URL") from None
    except httpx2.HTTPError as error:
        raise ServerAway(f"the server at {url} did not answer: {error or type(error).__name__}") from None


def _where() -> tuple[str, str]:
    note = read_note()
    url = (os.environ.get("KG_URL") or note.get("url") or "").rstrip("/")
    # the token of this machine's server is for it alone
    token = os.environ.get("KG_TOKEN") or (note.get("token") if url == note.get("url") else None)
    if not url and not token:
        raise ServerAway("no server is running here: start one with `kg up`, or name one with KG_URL and KG_TOKEN")
    if not token:
        raise ConfigError(f"KG_TOKEN: there is no token for {url}; make one with `kg tokens create USER`, or start `kg up`")
    return url or DEFAULT_URL, token


def _error(answer: httpx2.Response) -> KgError:
    try:
        said = answer.json()
        detail, code = str(said["detail"]), said.get("code")
    except (ValueError, KeyError, TypeError, AttributeError):
        said, detail, code = {}, f"the answer was {answer.status_code}", None
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        return NotAuthenticated(f"{detail}; is KG_TOKEN right? `kg tokens create USER` makes another one")
    if answer.status_code == httpx2.codes.TOO_MANY_REQUESTS:
        wait = answer.headers.get("retry-after", "1")
        return TooMany(detail, retry_after=int(wait) if wait.isdecimal() else 1)
    if (kind := _known().get(code)) is not None:
        return kind(detail)
    if answer.status_code == httpx2.codes.UNPROCESSABLE_CONTENT:
        return WrongRequest(_wrong(said.get("errors")) or detail)
    return (AccessNotFound if answer.status_code == httpx2.codes.NOT_FOUND else Refused)(detail)


def _wrong(errors: Any) -> str:
    """By the names of fields, as options have them; of several things that a value could have been, the last."""
    found: dict[str, str] = {}
    for one in errors if isinstance(errors, list) else ():
        field = ".".join(str(one.get("at", "")).split(".")[1:2])
        found[field] = str(one.get("message", "")).lower().replace("input should", "should", 1)
    return "; ".join(f"{field}: {message}" for field, message in found.items())


@cache
def _known() -> dict[str, type[KgError]]:
    """What the server may call its error: the same code and exit code, with nothing but its words."""
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, KgError)]
    return {one.code: type(one.__name__, (KgError,), {"code": one.code, "exit_code": one.exit_code}) for one in kinds}
