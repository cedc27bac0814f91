"""`kg serve`: HTTP only, in several processes."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kg.access.access import Access
from kg.cli.house import settings_of
from kg.config import KgSettings
from kg.family import Family, listen
from kg.logs import speak
from lanework import Lanework, embedded
from lanework.cli.address import shown_dsn
from lanework.cli.output import say


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: 8000)")
    parser.add_argument("--processes", type=int, metavar="N", help="HTTP processes (default: 2)")


def run(options: argparse.Namespace) -> int:
    settings = settings_of(options)
    speak(engine=logging.WARNING)
    place = Place.open(settings)
    with database():
        asyncio.run(_prepare())
        family = Family()
        place.add_http(family, settings.processes)
        return family.watch(place.answers, lambda: say(f"ready: {place.url}"))


async def _prepare() -> None:
    """Whatever is wrong with the database is said once, here, and not by every process."""
    async with Lanework() as work:
        await Access(work).prepare()


@contextmanager
def database() -> Iterator[None]:
    """Says which it is. The embedded one runs at least as long as this process wants."""
    if dsn := os.environ.get("LANEWORK_DSN"):
        say(f"PostgreSQL: {shown_dsn(dsn)}")
        yield
        return
    say(f"PostgreSQL: embedded, in {embedded.default_folder()}")
    with embedded.acquire():
        yield


@dataclass(frozen=True)
class Place:
    """Where the HTTP processes listen, on one socket."""

    fd: int
    host: str
    port: int

    @classmethod
    def open(cls, settings: KgSettings) -> Place:
        listening = listen(settings.host, settings.port)
        port = int(listening.getsockname()[1])
        return cls(listening.detach(), settings.host, port)

    @property
    def url(self) -> str:
        return url(self.host, self.port)

    def add_http(self, family: Family, processes: int) -> None:
        for number in range(processes):
            family.add(f"HTTP process {number + 1}", ["-m", "kg.serving", str(self.fd)], (self.fd,))

    def answers(self) -> bool:
        """Does one of the processes answer?"""
        here = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - asked, not bound
        connection = http.client.HTTPConnection(here, self.port, timeout=2)
        try:
            connection.request("GET", "/health/live")
            return connection.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
