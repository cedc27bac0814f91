"""What commands share: the settings, the access service on its own loop, and the note that `kg up` leaves."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from kg.access.access import Access
from kg.config import KgSettings
from lanework import Lanework, embedded
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


def note_file() -> Path:
    """Where `kg up` leaves the address and a token for the command line of the same user."""
    return embedded.default_folder() / "kg.json"


def write_note(url: str, token: str) -> None:
    path = note_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123 - its mode
        json.dump({"url": url, "token": token}, file)
    new.replace(path)


def read_note() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(note_file().read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError):
        return {}
