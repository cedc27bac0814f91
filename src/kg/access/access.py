"""`Access`: users, roles, tokens and logins. One service for HTTP and the command line."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from kg._store import access as store
from kg._store.schema import prepare
from kg._store.verb import Verb
from kg.access import secrets
from kg.access.caller import Caller, grants
from kg.access.permissions import check
from kg.errors import AccessNotFound, InvalidAccess, LastAdministrator, NotAuthenticated, TooMany, WrongLogin
from lanework import Lanework

T = TypeVar("T")
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._@+-]{0,99}")
_ROLE = re.compile(r"[a-z][a-z0-9_]{0,62}")
SHORTEST_PASSWORD, LONGEST_PASSWORD = 10, 1000
LINK_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class User:
    name: str
    roles: list[str]
    has_password: bool
    disabled: bool
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Token:
    id: int
    user: str
    name: str
    start: str
    only: list[str] | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken:
    """`secret` is shown this once."""

    id: int
    secret: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    description: str
    built_in: bool
    permissions: dict[str, list[str]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(permission, scope) for permission, scopes in self.permissions.items() for scope in scopes]


class Access:
    def __init__(self, work: Lanework, *, logins_per_minute: int = 10, session_hours: float = 12.0) -> None:
        self._work = work
        self._logins = logins_per_minute
        self._session_seconds = session_hours * 3600

    async def prepare(self) -> None:
        """The schema of the engine and of the platform, where they are not there yet."""
        await asyncio.to_thread(prepare, self._work)

    async def _run(self, verb: Verb[T]) -> T:
        return await self._work._arun(verb)

    # -- who is asking ---------------------------------------------------------------------------------------------------

    async def caller(self, secret: str, kinds: Sequence[str]) -> Caller:
        row = await self._run(store.who(secrets.digest(secret), kinds))
        if row is None:
            raise NotAuthenticated("this token or login is not known, has expired, or was revoked")
        credential, kind, _, name, granted = row
        return Caller(name, credential, kind, grants(granted))

    async def changed(self, callers: Iterable[Caller]) -> list[Caller]:
        """Those who may no longer do what they could when they came."""
        known = list(callers)
        found = await self._run(store.still(sorted({one.credential for one in known})))
        valid = {id: grants(granted) for id, granted in found.items()}
        return [one for one in known if valid.get(one.credential) != one.grants]

    async def login(self, name: str, password: str, *, origin: str) -> tuple[str, float]:
        """A session's secret and how many seconds it lasts. Name and address are counted, whether it fits or not."""
        # not the name itself: now and then somebody types his password there
        keys = [f"login:name:{secrets.digest(name).hex()}", f"login:from:{origin}"]
        for key in keys:
            await self._count(key)
        stored = await self._run(store.password(name)) if _NAME.fullmatch(name) else None
        if not await secrets.fits(password[:LONGEST_PASSWORD], stored):
            raise WrongLogin("name or password do not fit")
        await self._run(store.forget_attempts(keys[0]))
        return await self._new_session(name)

    async def use_link(self, secret: str, *, origin: str) -> tuple[str, float]:
        await self._count(f"link:from:{origin}")
        name = await self._run(store.use_link(secrets.digest(secret)))
        if name is None:
            raise WrongLogin("this link was used already, has expired, or never was one")
        return await self._new_session(name)

    async def _count(self, key: str) -> None:
        count, left = await self._run(store.attempt(key, 60.0))
        if count > self._logins:
            wait = max(int(left) + 1, 1)
            raise TooMany(f"more than {self._logins} attempts a minute; try again in {wait} s", retry_after=wait)

    async def _new_session(self, name: str) -> tuple[str, float]:
        secret = secrets.new_secret("lws_")
        await self._add(name, "session", secret, seconds=self._session_seconds, by=name)
        return secret, self._session_seconds

    async def logout(self, caller: Caller) -> None:
        await self._run(store.revoke_credential(caller.credential, caller.name, by=caller.name))

    # -- tokens ----------------------------------------------------------------------------------------------------------

    async def create_token(
        self, user: str, name: str, *, only: Sequence[str] | None = None, days: float | None = None, by: str
    ) -> NewToken:
        for permission in only or ():
            check(permission, "all")
        secret = secrets.new_secret()
        row = await self._add(
            user, "token", secret, name=name, only=only, seconds=None if days is None else days * 86_400, by=by
        )  # fmt: skip
        return NewToken(row[0], secret, row[2])

    async def replace_token(self, user: str, name: str, *, days: float | None = None, by: str) -> NewToken:
        """A new token in the place of those of the same name."""
        for old in await self.tokens(user):
            if old.name == name and old.revoked_at is None:
                await self.revoke_token(old.id, user=user, by=by)
        return await self.create_token(user, name, days=days, by=by)

    async def create_link(self, user: str, *, by: str) -> str:
        secret = secrets.new_secret("lwl_")
        await self._add(user, "link", secret, seconds=LINK_SECONDS, by=by)
        return secret

    async def _add(
        self, user: str, kind: str, secret: str, *, by: str, name: str = "", only: Sequence[str] | None = None,
        seconds: float | None = None,
    ) -> Any:  # fmt: skip
        row = await self._run(
            store.add_credential(
                user, kind, name=name, hash=secrets.digest(secret), start=secret[: secrets.SHOWN], only=only, seconds=seconds, by=by
            )
        )
        return _found(row, f"there is no user {user!r}")

    async def tokens(self, user: str | None = None) -> list[Token]:
        """All, or those of one user."""
        found = [Token(*row) for row in await self._run(store.list_credentials(user))]
        if user is not None and not found:
            await self.user(user)
        return found

    async def revoke_token(self, token: int, *, user: str | None = None, by: str) -> None:
        """`user`: only if it is his."""
        _found(await self._run(store.revoke_credential(token, user, by=by)), f"there is no living token {token}")

    # -- users and roles -------------------------------------------------------------------------------------------------

    async def users(self) -> list[User]:
        return [User(*row) for row in await self._run(store.list_users())]

    async def user(self, name: str) -> User:
        found = await self._run(store.list_users(name))
        if not found:
            raise AccessNotFound(f"there is no user {name!r}")
        return User(*found[0])

    async def add_user(self, name: str, password: str | None, roles: Sequence[str], *, by: str) -> User:
        if not _NAME.fullmatch(name):
            raise InvalidAccess(f"name: expected letters, digits and . _ @ + -, at most 100, got {name!r}", field="name")
        hashed = None if password is None else await _hashed(password)
        with _refusals(roles):
            if await self._run(store.add_user(name, hashed, roles, by=by)) is None:
                raise InvalidAccess(f"name: there is a user {name!r} already", field="name")
        return await self.user(name)

    async def set_user(
        self, name: str, *, password: str | None = None, roles: Sequence[str] | None = None, disabled: bool | None = None, by: str
    ) -> User:
        hashed = None if password is None else await _hashed(password)
        with _refusals(roles or ()):
            if not await self._run(store.set_user(name, hashed, roles, disabled, by=by)):
                raise AccessNotFound(f"there is no user {name!r}")
        return await self.user(name)

    async def roles(self) -> list[Role]:
        return [
            Role(name, description, built_in, {key: sorted(scopes) for key, scopes in grants(granted).items()})
            for name, description, built_in, granted in await self._run(store.list_roles())
        ]

    async def role(self, name: str) -> Role:
        for role in await self.roles():
            if role.name == name:
                return role
        raise AccessNotFound(f"there is no role {name!r}; `kg roles` shows them")

    async def set_role(self, name: str, description: str | None, granted: Sequence[tuple[str, str]], *, by: str) -> Role:
        if not _ROLE.fullmatch(name):
            raise InvalidAccess(f"name: expected small letters, digits and _, at most 63, got {name!r}", field="name")
        for permission, scope in granted:
            check(permission, scope)
        with _refusals():
            await self._run(store.set_role(name, description, granted, by=by))
        return await self.role(name)

    async def remove_role(self, name: str, *, by: str) -> None:
        with _refusals():
            if not await self._run(store.remove_role(name, by=by)):
                raise AccessNotFound(f"there is no role {name!r} that could be removed; built-in ones stay")

    async def is_empty(self) -> bool:
        """Nobody can log in yet."""
        return not await self._run(store.has_users())


def _found(row: T | None, otherwise: str) -> T:
    if row is None:
        raise AccessNotFound(otherwise)
    return row


async def _hashed(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidAccess(f"password: expected {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", field="password")
    return await secrets.hash_password(password)


@contextmanager
def _refusals(roles: Sequence[str] = ()) -> Iterator[None]:
    """What only the database can know."""
    try:
        yield
    except Exception as error:
        if (why := store.leaves_no_admin(error)) is not None:
            raise LastAdministrator(why) from None
        if not store.names_no_role(error):
            raise
        shown = ", ".join(roles)
        raise InvalidAccess(f"roles: one of {shown} is no role; `kg roles` shows them", field="roles") from None
