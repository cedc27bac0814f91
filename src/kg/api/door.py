"""The gate of the platform: a bearer token, or the cookie of a login. Known callers are remembered for half a second, so that a
revoked one is out within a second."""

from __future__ import annotations

import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from fastapi import Request

from kg.access.access import Access
from kg.access.caller import Caller
from kg.errors import CrossSite, NotAuthenticated
from lanework.api.gate import Caller as Engine

COOKIE = "kg_session"
REMEMBERED = 0.5
_SAFE = ("GET", "HEAD", "OPTIONS")


class Door:
    def __init__(self, access: Access) -> None:
        self._access = access
        self._known: dict[tuple[str, str], tuple[float, Caller]] = {}

    async def __call__(self, request: Request) -> Caller:
        kind, secret = credential(request)
        if kind == "session" and request.method not in _SAFE:
            must_be_same_site(request)
        return await self.ask(kind, secret)

    async def ask(self, kind: str, secret: str) -> Caller:
        """Also for streams, which ask again and again."""
        now = time.monotonic()
        known = self._known.get((kind, secret))
        if known is not None and known[0] > now:
            return known[1]
        self._known.pop((kind, secret), None)
        caller = await self._access.caller(secret, [kind])
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[(kind, secret)] = (now + REMEMBERED, caller)
        return caller

    async def recheck(self, callers: Iterable[Engine]) -> list[Engine]:
        """For open streams: whoever's rights have changed has to come in again."""
        return [*await self._access.changed(one for one in callers if isinstance(one, Caller))]

    def forget(self, request: Request) -> None:
        self._known.pop(credential(request), None)


def credential(request: Request) -> tuple[str, str]:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if secret:
        if scheme.lower() != "bearer":
            raise NotAuthenticated(f"Authorization: expected Bearer and a token, got {scheme[:20]!r}")
        return "token", secret.strip()
    if cookie := request.cookies.get(COOKIE):
        return "session", cookie
    raise NotAuthenticated("say who you are: Authorization: Bearer <token>, or log in with POST /login")


def must_be_same_site(request: Request) -> None:
    """A browser sends the cookie from any page; it also says where the page is from."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise CrossSite("this request comes from another site's page")
        return
    origin = request.headers.get("origin") or request.headers.get("referer")
    if origin is None or urlsplit(origin).netloc != request.headers.get("host"):
        raise CrossSite("a login's requests must come from this server's own pages (no Origin header that says so)")
