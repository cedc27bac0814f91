"""What a command works on: the application object over the database that was chosen, or a bare connection to it."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from lanework import embedded
from lanework._store.connect import connect
from lanework.cli.address import parse_dsn
from lanework.client import Lanework
from lanework.config import Settings


def settings_of(options: argparse.Namespace) -> Settings:
    settings = Settings.load(dsn=options.dsn)
    for name in ("dsn", "direct_dsn"):
        if (address := getattr(settings, name)) is not None:
            parse_dsn(address, _source(settings, name))
    return settings


@contextmanager
def application(options: argparse.Namespace) -> Iterator[Lanework]:
    """An application without job types, to read and steer with. It never changes the schema: `lanework migrate` does."""
    settings = settings_of(options)
    with Lanework(settings.dsn, migrate="check") as app:
        yield app


@contextmanager
def connection(options: argparse.Namespace) -> Iterator[psycopg.Connection[Any]]:
    """A connection past any pooler, to a database in whatever condition it is."""
    settings = settings_of(options)
    with address(settings) as dsn, connect(settings.direct_dsn or dsn, settings, "cli") as conn:
        yield conn


@contextmanager
def address(settings: Settings) -> Iterator[str]:
    if settings.dsn is not None:
        yield settings.dsn
        return
    with embedded.acquire(settings.data) as lease:
        yield lease.dsn


def _source(settings: Settings, name: str) -> str:
    return "--dsn" if settings.origin[name] == "code" else settings.origin[name]


def who() -> str:
    """Whose hand it was, for the rows that keep it."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli"
