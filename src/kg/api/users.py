"""Users and roles, for administrators. Nobody can give what he does not have, nor take it away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from kg.access.access import Access, Role, Token, User
from kg.access.caller import Caller
from lanework.api import Forbidden, Routes, Who


class NewUser(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=100)]
    password: Annotated[str, Field(min_length=10, max_length=1000)] | None = None
    roles: list[str] = ["read_only"]


class UserChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    password: Annotated[str, Field(min_length=10, max_length=1000)] | None = None
    roles: list[str] | None = None
    disabled: bool | None = None


class Grants(BaseModel):
    """Permission → scopes: all, own, ontology:<name>."""

    model_config = ConfigDict(extra="forbid")

    description: Annotated[str, Field(max_length=1000)] | None = None
    permissions: dict[str, list[str]]


class Users:
    def __init__(self, access: Access) -> None:
        self.access = access

    def add_to(self, routes: Routes) -> None:
        add = routes.add
        add("GET", "/admin/users", self.users, needs="users:manage", tags=["access"])
        add("POST", "/admin/users", self.add, needs="users:manage", status_code=201, tags=["access"])
        add("PATCH", "/admin/users/{name}", self.change, needs="users:manage", tags=["access"])
        add("GET", "/admin/tokens", self.tokens, needs="users:manage", tags=["access"])
        add("DELETE", "/admin/tokens/{token}", self.revoke, needs="users:manage", status_code=204, tags=["access"])
        add("GET", "/admin/roles", self.roles, needs="roles:manage", tags=["access"])
        add("PUT", "/admin/roles/{name}", self.set_role, needs="roles:manage", tags=["access"])
        add("DELETE", "/admin/roles/{name}", self.remove_role, needs="roles:manage", status_code=204, tags=["access"])

    async def users(self) -> list[User]:
        """All users and their roles."""
        return await self.access.users()

    async def add(self, who: Who, user: NewUser) -> User:
        """A new user; without a password he gets in by a link or a token."""
        await self._has_all_of(who, user.roles)
        return await self.access.add_user(user.name, user.password, user.roles, by=who.name)

    async def change(self, who: Who, name: str, change: UserChange) -> User:
        """A new password, or being disabled, ends the user's logins; being disabled ends his tokens too. The last administrator
        stays one (409)."""
        await self._has_all_of(who, {*(change.roles or ()), *(await self.access.user(name)).roles})
        return await self.access.set_user(name, password=change.password, roles=change.roles, disabled=change.disabled, by=who.name)

    async def tokens(self, user: str | None = None) -> list[Token]:
        """Everybody's tokens, or one user's; their secrets are known to nobody."""
        return await self.access.tokens(user)

    async def revoke(self, who: Who, token: int) -> None:
        """Ends a token within a second."""
        await self.access.revoke_token(token, by=who.name)

    async def roles(self) -> list[Role]:
        """All roles and what they allow."""
        return await self.access.roles()

    async def set_role(self, who: Who, name: str, grants: Grants) -> Role:
        """Adds a role, or says anew what it allows. Somebody must be left who may manage users and roles (409)."""
        pairs = [(permission, scope) for permission, scopes in grants.permissions.items() for scope in scopes]
        await self._has_all_of(who, [name])
        _has_all(who, pairs)
        return await self.access.set_role(name, grants.description, pairs, by=who.name)

    async def remove_role(self, who: Who, name: str) -> None:
        """Built-in roles stay. Whoever had it keeps his others."""
        await self._has_all_of(who, [name])
        await self.access.remove_role(name, by=who.name)

    async def _has_all_of(self, who: object, roles: Iterable[str]) -> None:
        known = {role.name: role for role in await self.access.roles()}
        _has_all(who, [pair for name in roles if name in known for pair in known[name].pairs])


def _has_all(who: object, pairs: Iterable[tuple[str, str]]) -> None:
    assert isinstance(who, Caller)
    for permission, scope in pairs:
        held = who.grants.get(permission, set())
        wider = who.grants.get("jobs:submit", set()) if permission.startswith("jobs:submit:") else set()
        if "all" not in held | wider and scope not in held | wider:
            raise Forbidden(f"{permission} ({scope}) yourself, to give it to others")
