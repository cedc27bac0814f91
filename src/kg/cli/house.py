"""What commands share that work on the database themselves: the settings, and the access service on its own loop."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TypeVar

from kg.access.access import Access
from kg.config import KgSettings
from lanework import Lanework
from lanework.cli.address import parse_dsn

T = TypeVar("T")


def settings_of(options: argparse.Namespace) -> KgSettings:
    """--dsn and the rest of the line before the environment; the processes that are started inherit it."""
    given = getattr(options, "dsn", None)
    settings = KgSettings.load(dsn=given, **{name: getattr(options, name, None) for name in ("host", "port", "processes")})
    for name in ("host", "port", "processes"):
        os.environ[f"KG_{name.upper()}"] = str(getattr(settings, name))
    if settings.dsn:
        parse_dsn(settings.dsn, "--dsn" if given else "KG_DSN")
        # not an argument of a process: those can be seen by others
        os.environ["KG_DSN"] = os.environ["LANEWORK_DSN"] = settings.dsn
    return settings


def with_access(options: argparse.Namespace, act: Callable[[Access], Awaitable[T]]) -> T:
    """Runs one act on the database that was chosen."""
    settings_of(options)

    async def run() -> T:
        async with Lanework() as work:
            access = Access(work)
            await access.prepare()
            return await act(access)

    return asyncio.run(run())
