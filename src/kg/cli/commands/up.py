"""`kg up`: PostgreSQL, workers and HTTP with one command. The first start makes an administrator and prints a link for him."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys

from kg.access.access import Access
from kg.cli.commands import serve
from kg.cli.house import settings_of, write_note
from kg.family import Family
from lanework import embedded

ADMIN = "admin"


def configure(parser: argparse.ArgumentParser) -> None:
    serve.configure(parser)


def run(options: argparse.Namespace) -> int:
    settings = settings_of(options)
    serve.speak()
    single = "LANEWORK_DSN" not in os.environ
    with embedded.acquire() if single else contextlib.nullcontext():
        link, token = asyncio.run(_welcome(single))
        family = Family()
        serve.add_http(family, settings)
        family.add("worker", ["-m", "lanework", "worker", "kg.app:work"])
        return family.watch(lambda: _greet(serve.url(settings), link, token))


async def _welcome(single: bool) -> tuple[str, str]:
    """A link, and in embedded mode a token for the command line of whoever can read the data folder."""
    from kg.app import prepare, work  # noqa: PLC0415 - reads the environment

    await asyncio.to_thread(prepare, work)
    try:
        access = Access(work)
        if await access.is_empty():
            await access.add_user(ADMIN, None, ["platform_admin"], by="kg up")
        elif not single:
            return "", ""
        token = (await access.create_token(ADMIN, "command line", days=30, by="kg up")).secret if single else ""
        return await access.create_link(ADMIN, by="kg up"), token
    finally:
        await work.aclose()


def _greet(url: str, link: str, token: str) -> None:
    if token:
        write_note(url, token)
    print(f"listening on {url}", file=sys.stderr)
    if link:
        print(f"log in once, within the hour: {url}/login/{link}", file=sys.stderr)
