"""What commands share: the settings, the access service on its own loop, and where the running server is."""

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
from lanework import embedded

T = TypeVar("T")


def settings_of(options: argparse.Namespace) -> KgSettings:
    """--dsn and the rest of the line before the environment; the processes that are started inherit it."""
    if getattr(options, "dsn", None):
        os.environ["KG_DSN"] = options.dsn  # not an argument of a process: those can be seen by others
    settings = KgSettings.load(**{name: getattr(options, name, None) for name in ("host", "port", "processes")})
    for name in ("host", "port", "processes"):
        os.environ[f"KG_{name.upper()}"] = str(getattr(settings, name))
    if settings.dsn and "LANEWORK_DSN" not in os.environ:
        os.environ["LANEWORK_DSN"] = settings.dsn
    return settings


def with_access(options: argparse.Namespace, act: Callable[[Access], Awaitable[T]]) -> T:
    """Runs one act on the database that was chosen."""
    settings_of(options)
    from kg.app import prepare, work  # noqa: PLC0415 - reads the environment

    async def run() -> T:
        await asyncio.to_thread(prepare, work)
        try:
            return await act(Access(work))
        finally:
            await work.aclose()

    return asyncio.run(run())


def note_file() -> Path:
    """Where `kg up` leaves the address and a token for the command line of the same user."""
    return embedded.default_folder() / "kg.json"


def write_note(url: str, token: str) -> None:
    path = note_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(json.dumps({"url": url, "token": token}), encoding="utf-8")


def read_note() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(note_file().read_text(encoding="utf-8"))
        return found
    except (OSError, ValueError):
        return {}
