"""Secrets that are shown once: random texts, of which only the hash is stored. Passwords by argon2."""

from __future__ import annotations

import asyncio
import hashlib
import secrets

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

#: How a token can be told apart from other texts, by people and by scanners of leaked secrets.
PREFIX = "lwk_"
SHOWN = 8
_hasher = PasswordHasher()
#: Verified against when there is no such user, so that the answer takes as long.
_NOBODY = _hasher.hash(secrets.token_urlsafe(16))
#: argon2 takes a core and 64 MB for its time: two at once in a process, the others wait.
_turns = asyncio.Semaphore(2)


def new_secret(prefix: str = PREFIX) -> str:
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).digest()


def hash_password(password: str) -> str:
    return _hasher.hash(password)


async def fits(password: str, stored: str | None) -> bool:
    async with _turns:
        return await asyncio.to_thread(_verify, password, stored or _NOBODY) and stored is not None


def _verify(password: str, stored: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
