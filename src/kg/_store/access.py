"""Users, roles and credentials as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg import errors as pg

from kg._store.verb import Row, Verb, nothing, rows, scalar, verb


def names_no_role(error: Exception) -> bool:
    return isinstance(error, pg.ForeignKeyViolation)


def leaves_no_admin(error: Exception) -> str | None:
    """The words of the database, if it is that."""
    return error.diag.message_primary if isinstance(error, psycopg.Error) and error.sqlstate == "KG113" else None


def _first(found: list[Row]) -> Row | None:
    return found[0] if found else None


def who(hash: bytes, kinds: Sequence[str]) -> Verb[Row | None]:
    """(credential, kind, user id, name, grants as `permission scope`), or None."""
    return verb("who", _first, hash=hash, kinds=list(kinds))


def still(credentials: Sequence[int]) -> Verb[dict[int, list[str]]]:
    """Credential → grants, of those that are still valid."""
    return verb("still", lambda found: {row[0]: row[1] for row in found}, ids=list(credentials))


def add_credential(
    user: str, kind: str, *, name: str, hash: bytes, start: str, only: Sequence[str] | None, seconds: float | None, by: str
) -> Verb[Row | None]:
    """(id, created, expires, …), or None if there is no such user."""
    return verb(
        "add_credential", _first, user=user, kind=kind, name=name, hash=hash, start=start,
        only=None if only is None else list(only), seconds=seconds, by=by,
    )  # fmt: skip


def revoke_credential(credential: int, user: str | None, *, by: str) -> Verb[Row | None]:
    return verb("revoke_credential", _first, id=credential, user=user, by=by)


def list_credentials(user: str | None) -> Verb[list[Row]]:
    return verb("list_credentials", rows, user=user)


def use_link(hash: bytes) -> Verb[Any]:
    """The name of the user that the link lets in, once."""
    return verb("use_link", scalar, hash=hash)


def add_user(name: str, password: str | None, roles: Sequence[str], *, by: str) -> Verb[Row | None]:
    return verb("add_user", _first, name=name, password=password, roles=list(roles), by=by)


def set_user(name: str, password: str | None, roles: Sequence[str] | None, disabled: bool | None, *, by: str) -> Verb[Any]:
    return verb(
        "set_user", scalar, name=name, password=password, roles=None if roles is None else list(roles), disabled=disabled, by=by
    )


def list_users(name: str | None = None) -> Verb[list[Row]]:
    return verb("list_users", rows, name=name)


def password(name: str) -> Verb[Any]:
    return verb("password", scalar, name=name)


def list_roles() -> Verb[list[Row]]:
    return verb("list_roles", rows)


def set_role(name: str, description: str | None, grants: Sequence[tuple[str, str]], *, by: str) -> Verb[None]:
    return verb(
        "set_role", nothing, name=name, description=description, permissions=[one for one, _ in grants],
        scopes=[scope for _, scope in grants], by=by,
    )  # fmt: skip


def remove_role(name: str, *, by: str) -> Verb[Any]:
    return verb("remove_role", scalar, name=name, by=by)


def attempt(key: str, window: float) -> Verb[Row]:
    """(attempts in this window, seconds until it ends)."""
    return verb("attempt", lambda found: found[0], key=key, window=window)


def forget_attempts(key: str) -> Verb[None]:
    return verb("forget_attempts", nothing, key=key)


def has_users() -> Verb[bool]:
    return verb("has_users", lambda found: bool(found[0][0]))


def clean_up() -> Verb[int]:
    """How many rows nobody needed any more."""
    return verb("clean_up", lambda found: int(found[0][0]))
