"""`kg serve`: HTTP only, in several processes."""

from __future__ import annotations

import argparse
import logging
import sys

from kg.cli.house import settings_of
from kg.config import KgSettings
from kg.family import Family, listen


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: 8000)")
    parser.add_argument("--processes", type=int, metavar="N", help="HTTP processes (default: 2)")


def run(options: argparse.Namespace) -> int:
    settings = settings_of(options)
    speak()
    family = Family()
    add_http(family, settings)
    return family.watch(lambda: print(f"listening on {url(settings)}", file=sys.stderr))


def add_http(family: Family, settings: KgSettings) -> None:
    listening = listen(settings.host, settings.port)
    fd = listening.detach()
    for number in range(settings.processes):
        family.add(f"HTTP process {number + 1}", ["-m", "kg.serving", str(fd)], (fd,))


def url(settings: KgSettings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def speak() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
