"""Stored answers to requests that came with an Idempotency-Key."""

from __future__ import annotations

from kg._store.verb import Row, Verb, nothing, verb


def begin_answer(owner: str, key: str, route: str, hash: bytes) -> Verb[Row]:
    """(ours to answer, route, hash of the body, status, body) of the key."""
    return verb("begin_answer", lambda found: found[0], owner=owner, key=key, route=route, hash=hash)


def end_answer(owner: str, key: str, status: int, body: str) -> Verb[None]:
    return verb("end_answer", nothing, owner=owner, key=key, status=status, body=body)


def drop_answer(owner: str, key: str) -> Verb[None]:
    return verb("drop_answer", nothing, owner=owner, key=key)
