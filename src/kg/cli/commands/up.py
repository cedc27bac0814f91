"""`kg up`: PostgreSQL, workers and HTTP with one command. The first start makes an administrator and prints a link for him."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
from collections.abc import Iterator

from kg.access.access import Access
from kg.cli import alone
from kg.cli.commands import serve
from kg.cli.house import settings_of
from kg.cli.note import drop_note, note_file, write_note
from kg.family import Family
from kg.logs import speak
from lanework import Lanework
from lanework.cli.output import say

ADMIN = "admin"
TOKEN = "command line"  # noqa: S105 - its name
TOKEN_DAYS = 30


def configure(parser: argparse.ArgumentParser) -> None:
    serve.configure(parser)


def run(options: argparse.Namespace) -> int:
    settings = settings_of(options)
    speak(engine=logging.WARNING)
    single = "LANEWORK_DSN" not in os.environ
    if single:
        alone.must_be_free()
    place = serve.Place.open(settings)
    with serve.database(), alone.alone() if single else contextlib.nullcontext(), _noted(place.url):
        link, token = asyncio.run(_welcome(single=single))
        family = Family()
        family.add("worker", ["-m", "kg.working"])
        place.add_http(family, settings.processes)
        return family.watch(place.answers, lambda: _greet(place.url, link, token))


@contextlib.contextmanager
def _noted(url: str) -> Iterator[None]:
    """The note that is left when all is ready goes with us."""
    try:
        yield
    finally:
        drop_note(url)


async def _welcome(*, single: bool) -> tuple[str, str]:
    """A link, and in embedded mode a token for the command line of whoever can read the data folder."""
    async with Lanework() as work:
        access = Access(work)
        await access.prepare()
        if await access.is_empty():
            await access.add_user(ADMIN, None, ["platform_admin"], by="kg up")
        elif not single or ADMIN not in {user.name for user in await access.users() if not user.disabled}:
            return "", ""
        token = (await access.replace_token(ADMIN, TOKEN, days=TOKEN_DAYS, by="kg up")).secret if single else ""
        return await access.create_link(ADMIN, by="kg up"), token


def _greet(url: str, link: str, token: str) -> None:
    if token:
        write_note(url, token)
    say(f"ready: {url}")
    if link:
        say(f"log in as {ADMIN}, once, within the hour: {url}/login/{link}")
    if token:
        say(f"`kg` commands find this server by {note_file()}")
    say("Ctrl-C ends it")
