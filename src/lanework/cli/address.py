"""Addresses of databases: checked before they are used, shown without their passwords."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from lanework.errors import ConfigError

SECRETS = ("password", "sslpassword")


def parse_dsn(dsn: str, source: str) -> dict[str, Any]:
    try:
        return dict(conninfo_to_dict(dsn))
    except psycopg.Error:
        # the driver's own words would show the address with its password
        raise ConfigError(f"{source}: expected postgresql://user@host/name or 'host=… dbname=…', got something else") from None


def shown_dsn(dsn: str) -> str:
    parts = parse_dsn(dsn, "the address")
    return make_conninfo(**{key: "***" if key in SECRETS else value for key, value in parts.items()})
