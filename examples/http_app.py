"""Jobs over HTTP in your own FastAPI application: the engine's routes beside yours, behind your own door."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from lanework import Context, Lanework
from lanework.api import Routes, Who, install, make_router
from lanework.errors import LaneworkError

work = Lanework()


@work.job(lane="interactive")
def greet(ctx: Context, name: str) -> str:
    return f"Hello, {name}!"


class Unknown(LaneworkError):
    code = "APP-1"
    http_status = 401


@dataclass(frozen=True)
class User:
    """Who is asking. `own`: he reaches his own jobs; None: not allowed; others' jobs are not found for him."""

    name: str

    def scope(self, permission: str) -> Literal["all", "own"] | None:
        if self.name == "root":
            return "all"
        return "own" if permission.startswith("jobs:") else None

    def may_submit(self, type: str) -> bool:
        return True


async def door(request: Request) -> User:
    name = {"Bearer a1": "ada", "Bearer b2": "bob", "Bearer r0": "root"}.get(request.headers.get("authorization", ""))
    if name is None:
        raise Unknown("say who you are: Authorization: Bearer <token>")
    return User(name)


@asynccontextmanager
async def life(api: FastAPI) -> AsyncIterator[None]:
    async with work.worker():  # or in processes of their own: `lanework worker http_app:work`
        yield
    await work.aclose()


async def hello(who: Who) -> dict[str, str]:
    return {"you": who.name}


api = FastAPI(lifespan=life, openapi_url=None)
api.include_router(make_router(work, gate=door))
routes = Routes(door)
routes.add("GET", "/hello", hello, needs="")  # "": any known caller
api.include_router(routes.router)
install(api)  # errors as problems, limits of bodies; refuses a route that has no policy


if __name__ == "__main__":
    with TestClient(api) as client:
        ada, bob, root = ({"Authorization": f"Bearer {token}"} for token in ("a1", "b2", "r0"))
        print(client.get("/hello", headers=ada).json())
        job = client.post("/jobs", json={"type": "greet", "args": {"name": "Ada"}}, headers=ada)
        path = job.headers["location"]
        print(job.status_code, job.json()["owner"])
        while (found := client.get(path, headers=ada).json())["status"] != "completed":
            pass
        print(found["result"])
        print(client.get(path, headers=bob).status_code, client.get(path).status_code)
        print(client.get("/admin/workers/lanes", headers=bob).json()["detail"])
        print(client.patch("/admin/workers/lanes/interactive", content='{"max_slots": 3}', headers=root).json()["changed"])
