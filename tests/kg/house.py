"""A platform for tests: an application with two jobs, its API in this process, and a user for each role."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from kg.access.access import Access
from kg.app import make_api
from kg.config import KgSettings
from kg.parts import Embed
from lanework import Context, Lanework

ROLES = ("read_only", "contributor", "operator", "approver", "admin", "platform_admin")


def make_work(dsn: str) -> Lanework:
    work = Lanework(dsn)

    @work.job(lane="interactive")
    async def add(ctx: Context, a: int, b: int = 2) -> int:
        return a + b

    @work.job(lane="maintenance")
    async def tidy(ctx: Context, what: str = "all") -> None:
        return None

    return work


@dataclass
class House:
    api: FastAPI
    work: Lanework
    client: TestClient
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def access(self) -> Access:
        found: Access = self.api.state.access
        return found

    def ask(self, role: str | None, method: str, path: str, **more: Any) -> Any:
        """One request by the user of this role; None: by nobody known."""
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role else {}
        return self.client.request(method, path, headers=headers | more.pop("headers", {}), **more)

    def enter(self, name: str, *granted: tuple[str, str]) -> None:
        """A user who may do just this: (permission, scope) each."""
        self.act(self.access.set_role(name, "", granted, by="test"))
        self.act(self.access.add_user(name, None, [name], by="test"))
        self.tokens[name] = self.act(self.access.create_token(name, "test", by="test")).secret

    def act(self, what: Any) -> Any:
        """Awaits something of the services, on the loop of the API."""
        portal = self.client.portal
        assert portal is not None
        return portal.call(_wait, what)


async def _wait(what: Any) -> Any:
    return await what


@contextmanager
def open_house(dsn: str, embed: Embed | None = None, *, parts: Any = None, **settings: Any) -> Iterator[House]:
    work = make_work(dsn)
    api = make_api(KgSettings.load(**{"logins_per_minute": 1000, **settings}), work, embed, parts=parts)
    with TestClient(api, raise_server_exceptions=False, base_url="http://testserver") as client:
        house = House(api, work, client)
        for role in ROLES:
            house.act(house.access.add_user(role, None, [role], by="test"))
            house.tokens[role] = house.act(house.access.create_token(role, "test", by="test")).secret
        yield house
        asyncio.run(asyncio.sleep(0))
