"""Secrets that are shown once: random texts, of which only the hash is stored. Passwords by argon2, beside the event loop."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import ARGON2_VERSION

#: How a token can be told apart from other texts, by people and by scanners of leaked secrets.
PREFIX = "lwk_"
SHOWN = 8
_hasher = PasswordHasher()
#: argon2 takes a core and 64 MB for its time: two at once in a process, the others wait.
_threads = ThreadPoolExecutor(2, thread_name_prefix="argon2")


def _unpadded(size: int) -> str:
    return base64.b64encode(secrets.token_bytes(size)).decode().rstrip("=")


#: Verified against when there is no such user, so that the answer takes as long. A hash of nothing, made at no cost.
_NOBODY = "$".join([
    "", "argon2id", f"v={ARGON2_VERSION}", f"m={_hasher.memory_cost},t={_hasher.time_cost},p={_hasher.parallelism}",
    _unpadded(_hasher.salt_len), _unpadded(_hasher.hash_len),
])  # fmt: skip


def new_secret(prefix: str = PREFIX) -> str:
    return prefix + secrets.token_urlsafe(32)


def digest(secret: str) -> bytes:
    """256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode(errors="surrogatepass")).digest()


async def hash_password(password: str) -> str:
    return await asyncio.get_running_loop().run_in_executor(_threads, _hasher.hash, password)


async def fits(password: str, stored: str | None) -> bool:
    verified = await asyncio.get_running_loop().run_in_executor(_threads, _verify, password, stored or _NOBODY)
    return verified and stored is not None


def _verify(password: str, stored: str) -> bool:
    try:
        return _hasher.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
