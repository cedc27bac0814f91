"""A platform for tests behind a real server: uvicorn in a thread, on a port."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from kg.access.access import Access
from kg.app import make_api
from kg.cli import main
from kg.config import KgSettings
from kg.graph.questions import Walk
from kg.parts import Embed
from lanework import Context, Lanework
from lanework.api.server import Server, make_config
from lanework.bench import sse

T = TypeVar("T")


def make_work(dsn: str, **settings: Any) -> Lanework:
    work = Lanework(dsn, beat=0.2, idle_beat=0.2, sweep=0.5, **settings)
    work.lane("default", max_slots=None, poll_interval_ms=100)

    @work.job()
    async def speak(ctx: Context, lines: int = 3, seconds: float = 0.0) -> int:
        for n in range(lines):
            print(f"line {n}")
        ctx.progress(0.5, "half")
        await asyncio.sleep(seconds)
        return lines

    return work


@dataclass
class Served:
    server: Server
    work: Lanework
    access: Access
    port: int
    tokens: dict[str, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    opened: list[sse.Stream] = field(default_factory=list)

    def act(self, what: Coroutine[Any, Any, T]) -> T:
        """Awaits something of the services, on the loop of the server."""
        assert self.server._loop is not None
        return asyncio.run_coroutine_threadsafe(what, self.server._loop).result(60)

    def user(self, name: str, role: str) -> str:
        self.act(self.access.add_user(name, None, [role], by="test"))
        return self.token(name)

    def token(self, name: str) -> str:
        made = self.act(self.access.create_token(name, "test", by="test"))
        self.tokens[name], self.ids[name] = made.secret, made.id
        return made.secret

    async def follow(self, name: str, path: str, after: str | None = None) -> sse.Stream:
        self.opened.append(await sse.follow(self.port, path, token=self.tokens[name], after=after))
        return self.opened[-1]

    def run(self, main: Coroutine[Any, Any, None]) -> None:
        """On a loop of the client's own. Streams that were followed are closed with it."""

        async def closing() -> None:
            try:
                await main
            finally:
                for stream in self.opened:
                    stream.close()
                await asyncio.sleep(0.05)
                self.opened.clear()

        asyncio.run(closing())

    @property
    def streams(self) -> Any:
        return self.server.lifespan.state["streams"]


@contextmanager
def serve(
    dsn: str, embed: Embed | None = None, walk: Walk | None = None, *, parts: Any = None, kg: dict[str, Any] | None = None,
    **settings: Any,
) -> Iterator[Served]:  # fmt: skip
    """`kg` are settings of the platform, the others of the engine."""
    work = make_work(dsn, **settings)
    api = make_api(KgSettings.load(logins_per_minute=1000, topics="test,other", **(kg or {})), work, embed, walk, parts)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    server = Server(make_config(api))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive() and time.monotonic() < until
        time.sleep(0.01)
    served = Served(server, work, api.state.access, listening.getsockname()[1])
    try:
        served.user("operator", "operator")
        yield served
    finally:
        server.handle_exit(15, None)
        thread.join(60)
        assert not thread.is_alive()


Cli = Callable[..., tuple[int, str, str]]


def commands(served: Served, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`kg` as an operator has it, in a folder, with this server: exit code, stdout, stderr."""
    monkeypatch.setenv("LANEWORK_DATA", str(folder))
    monkeypatch.setenv("KG_URL", f"http://127.0.0.1:{served.port}")
    monkeypatch.setenv("KG_TOKEN", served.tokens["operator"])
    monkeypatch.chdir(folder)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
