"""Fetches a document from a public address, and from nowhere else.

A name is resolved once; its addresses are checked and the connection goes to the one that was checked, with the name in TLS
and Host. Redirects are new addresses and pass the same door. No cookies, no proxies and no secrets of the environment.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from urllib.parse import unquote

import httpx2

from kg.config import KgSettings
from kg.documents.addresses import check_addresses, check_host
from kg.documents.names import safe_name
from kg.errors import AddressRefused, FetchFailed, TooLarge
from lanework.retries import BY_STATUS, retry_after_of

Resolve = Callable[[str, int], Awaitable[list[str]]]
MOST_REDIRECTS = 5
_HERE_IT_IS = frozenset({200, 203})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_PORTS = {"http": 80, "https": 443}
_HEADERS = {
    "user-agent": "lanework-kg (document fetcher)",
    "accept": "text/html, application/xhtml+xml, application/pdf, text/markdown, text/plain, */*;q=0.5",
    "accept-encoding": "identity",  # what is packed can unpack to anything
}
#: Of each part; the whole has the fetcher's.
_TIMEOUT = httpx2.Timeout(15.0)
_ODD = re.compile(r"[\x00-\x20\x7f\\]")
_FILENAME = re.compile(r"filename=\"?([^\";]{1,300})", re.IGNORECASE)
_FILENAME_8 = re.compile(r"filename\*=utf-8''([^;]{1,900})", re.IGNORECASE)


@cache
def _tls() -> ssl.SSLContext:
    """Made once: reading all roots takes longer than a page."""
    return httpx2.create_ssl_context(trust_env=False)


@dataclass(frozen=True)
class Fetched:
    """`media_type` is what the server said, a Content-Type with its charset; `url` is where it was found in the end."""

    data: bytes
    media_type: str
    name: str
    url: str


@dataclass(frozen=True)
class Place:
    """An address that may be connected to, checked."""

    url: httpx2.URL
    host: str
    port: int
    addresses: list[str]


async def resolve(host: str, port: int) -> list[str]:
    """Addresses of a name, by the system."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise FetchFailed(f"{host!r} cannot be resolved: {error}") from None
    return list(dict.fromkeys(str(one[4][0]) for one in found))


class Fetcher:
    """`allow` are hosts that need not be public, `host` or `host:port`, with commas between them; `size` is in bytes,
    `timeout` in seconds."""

    def __init__(
        self,
        *,
        size: int = 50_000_000,
        timeout: float = 60.0,
        allow: str = "",
        resolve: Resolve = resolve,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._size, self._timeout, self._resolve, self._tls = size, timeout, resolve, tls
        self._allow = frozenset(one.strip().lower() for one in allow.split(",") if one.strip())

    @classmethod
    def from_settings(cls, settings: KgSettings) -> Fetcher:
        return cls(size=settings.document_limit, timeout=settings.fetch_timeout, allow=settings.fetch_allow)

    async def fetch(self, url: str) -> Fetched:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._follow(url)
        except TimeoutError:
            raise FetchFailed(f"{url!r} took more than {self._timeout:g} s", error_class="timeout") from None

    async def check(self, url: str) -> Place:
        """Where `url` leads, resolved once; `AddressRefused` where that is not public."""
        parsed = parse_url(url)
        host, port = parsed.raw_host.decode("ascii").lower().rstrip("."), parsed.port or _PORTS[parsed.scheme]
        allowed = host in self._allow or f"{host}:{port}" in self._allow
        if not allowed:
            check_host(host)
            if port not in (80, 443) and port < 1024:
                raise AddressRefused(f"port {port} is not one for web pages: {url!r}")
        addresses = await self._resolve(host, port)
        if not addresses:
            raise FetchFailed(f"{host!r} has no address")
        if not allowed:
            check_addresses(host, addresses)
        return Place(parsed, host, port, addresses)

    async def _follow(self, url: str) -> Fetched:
        for _ in range(MOST_REDIRECTS + 1):
            place = await self.check(url)
            found = await self._get(place)
            if isinstance(found, Fetched):
                return found
            url = found
        raise FetchFailed(f"more than {MOST_REDIRECTS} redirects, the last to {url!r}", error_class="permanent")

    async def _get(self, place: Place) -> Fetched | str:
        """The document, or where it has moved to. By the bare transport: a client would read cookies and redirects on its own."""
        problem: Exception | None = None
        async with httpx2.AsyncHTTPTransport(verify=self._tls or _tls(), trust_env=False) as transport:
            for address in place.addresses[:3]:
                try:
                    return await self._ask(transport, place, address)
                except httpx2.ConnectError as error:
                    problem = error
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    problem = error
                    break
        told = str(problem) or f"no answer within {_TIMEOUT.read:g} s"
        raise FetchFailed(f"{str(place.url)!r}: {type(problem).__name__}: {told}") from problem

    async def _ask(self, transport: httpx2.AsyncHTTPTransport, place: Place, address: str) -> Fetched | str:
        host = f"[{place.host}]" if ":" in place.host else place.host
        request = httpx2.Request(
            "GET",
            place.url.copy_with(host=address, port=place.port),
            headers={**_HEADERS, "host": host if place.port == _PORTS[place.url.scheme] else f"{host}:{place.port}"},
            extensions={"sni_hostname": place.host, "timeout": _TIMEOUT.as_dict()},
        )
        answer = await transport.handle_async_request(request)
        answer.request = request
        try:
            return await self._taken(answer, place)
        finally:
            await answer.aclose()

    async def _taken(self, answer: httpx2.Response, place: Place) -> Fetched | str:
        if answer.status_code in _REDIRECTS and (where := answer.headers.get("location", "").strip()):
            where = where.replace(" ", "%20")  # as browsers do
            if _ODD.search(where):
                raise AddressRefused(f"{str(place.url)!r} leads to an address with odd characters: {where[:200]!r}")
            return str(place.url.join(where))
        if answer.status_code not in _HERE_IT_IS:
            kind = BY_STATUS.get(answer.status_code, "permanent" if answer.status_code < 500 else "transient")
            later = retry_after_of(httpx2.HTTPStatusError("", request=answer.request, response=answer))
            raise FetchFailed(f"{str(place.url)!r} answered {answer.status_code}", error_class=kind, retry_after=later)
        if answer.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise FetchFailed(f"{str(place.url)!r} is sent packed although that was not asked for", error_class="permanent")
        data = await self._body(answer, place)
        said = answer.headers.get("content-type", "").strip().lower()[:200]
        return Fetched(data, said, _name(answer, place.url), str(place.url))

    async def _body(self, answer: httpx2.Response, place: Place) -> bytes:
        told = answer.headers.get("content-length", "")
        if told.isdecimal() and int(told) > self._size:
            raise TooLarge(f"{str(place.url)!r} has {int(told):,} bytes; {self._size:,} are allowed")
        data = bytearray()
        async for piece in answer.aiter_raw():
            data += piece
            if len(data) > self._size:
                raise TooLarge(f"{str(place.url)!r} has more than {self._size:,} bytes")
        return bytes(data)


async def fetch(url: str, *, settings: KgSettings | None = None) -> Fetched:
    return await Fetcher.from_settings(settings or KgSettings.load()).fetch(url)


def parse_url(url: str) -> httpx2.URL:
    if len(url) > 8192 or _ODD.search(url):
        raise AddressRefused(
            f"an address has no spaces, backslashes or control characters and at most 8,192 characters: {url[:200]!r}"
        )
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise AddressRefused(f"{url[:200]!r} is no address: {error}") from None
    if parsed.scheme not in _PORTS:
        raise AddressRefused(f"only http and https are fetched, not {parsed.scheme or 'nothing'!r}: {url[:200]!r}")
    if not parsed.raw_host or b"%" in parsed.raw_host or not 0 < (parsed.port or 80) < 65_536:
        raise AddressRefused(f"{url[:200]!r} names no host, or no port that there is")
    if parsed.userinfo or "@" in url.partition("://")[2].partition("/")[0]:
        raise AddressRefused("an address with a user or password in it is not fetched")
    return parsed


def name_of(url: str) -> str:
    """As the address calls it: the last part of its path, else the host."""
    return _name_in(parse_url(url))


def _name_in(url: httpx2.URL) -> str:
    return safe_name(unquote(url.path.rstrip("/").rpartition("/")[2]), fallback=safe_name(url.host))


def _name(answer: httpx2.Response, url: httpx2.URL) -> str:
    told = answer.headers.get("content-disposition", "")
    if found := _FILENAME_8.search(told):
        return safe_name(unquote(found[1]))
    if found := _FILENAME.search(told):
        return safe_name(found[1])
    return _name_in(url)
