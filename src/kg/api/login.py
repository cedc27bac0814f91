"""Logging in and out, and one's own tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from kg.access.access import Access, Token
from kg.access.caller import Caller
from kg.api.door import COOKIE, Door, credential
from kg.errors import CrossSite
from lanework.api import Routes, Who


class Login(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100)]
    password: Annotated[str, Field(min_length=1, max_length=1000)]


class Me(BaseModel):
    name: str
    permissions: dict[str, list[str]]


class TokenWish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=100)] = ""
    #: Limits the token to these of the user's permissions; none: all that he has.
    only: list[str] | None = None
    days: Annotated[float, Field(gt=0, le=3650)] | None = 90


class Made(BaseModel):
    """A new token. `secret` is null when the answer is told again for the same Idempotency-Key: it is stored nowhere."""

    id: int
    secret: str | None
    expires_at: datetime | None


class Logins:
    def __init__(self, access: Access, door: Door, *, secure: bool) -> None:
        self.access, self.door, self.secure = access, door, secure

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        why = "this is how one becomes known"
        add("POST", "/login", self.login, needs=None, because=why, tags=["access"])
        add("GET", "/login/{link}", self.link, needs=None, because=why, tags=["access"], status_code=303, response_class=Response)
        add("POST", "/logout", self.logout, needs="", status_code=204, tags=["access"])
        add("GET", "/me", self.me, needs="", tags=["access"])
        add("GET", "/tokens", self.tokens, needs="", tags=["access"])
        add("POST", "/tokens", self.create, needs="", status_code=201, tags=["access"])
        add("DELETE", "/tokens/{token}", self.revoke, needs="", status_code=204, tags=["access"])

    async def login(self, request: Request, login: Login, response: Response) -> dict[str, str]:
        """Sets the cookie of a session. A page of another site cannot log anybody in."""
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise CrossSite("this request comes from another site's page")
        secret, seconds = await self.access.login(login.name, login.password, origin=_from(request))
        self._set(response, secret, seconds)
        return {"name": login.name}

    async def link(self, request: Request, link: str) -> Response:
        """A link that works once lets its user in."""
        secret, seconds = await self.access.use_link(link, origin=_from(request))
        response = RedirectResponse("/", status_code=303)
        self._set(response, secret, seconds)
        return response

    def _set(self, response: Response, secret: str, seconds: float) -> None:
        response.set_cookie(COOKIE, secret, max_age=int(seconds), httponly=True, secure=self.secure, samesite="strict")

    async def logout(self, request: Request, who: Who, response: Response) -> None:
        """Ends the session of the cookie."""
        assert isinstance(who, Caller)
        if credential(request)[0] == "session":
            await self.access.logout(who)
            self.door.forget(request)
            response.delete_cookie(COOKIE)

    async def me(self, who: Who) -> Me:
        """Who is asking, and what he may do."""
        assert isinstance(who, Caller)
        return Me(name=who.name, permissions={name: sorted(scopes) for name, scopes in sorted(who.grants.items())})

    async def tokens(self, who: Who) -> list[Token]:
        """His own tokens; their secrets are known to nobody."""
        return await self.access.tokens(who.name)

    async def create(self, who: Who, wish: TokenWish) -> Made:
        """The secret is in this answer and nowhere else."""
        made = await self.access.create_token(who.name, wish.name, only=_within(who, wish.only), days=wish.days, by=who.name)
        return Made(id=made.id, secret=made.secret, expires_at=made.expires_at)

    async def revoke(self, who: Who, token: int) -> None:
        """Ends one of his own tokens within a second."""
        await self.access.revoke_token(token, user=who.name, by=who.name)


def _within(who: object, only: list[str] | None) -> list[str] | None:
    """A token made with a limited token cannot be wider than it."""
    assert isinstance(who, Caller)
    if who.kind != "token":
        return only
    return [one for one in (only if only is not None else who.grants) if one in who.grants]


def _from(request: Request) -> str:
    return request.client.host if request.client else "unknown"
