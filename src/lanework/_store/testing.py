"""Statements that only tests use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from lanework._store.verb import Verb, nothing, verb


def claimable(lanes: Sequence[str] | None, types: Sequence[str]) -> Verb[bool]:
    """Is anything of these lanes waiting to start, or running?"""
    return verb("claimable", lambda found: bool(found[0][0]), lanes=None if lanes is None else list(lanes), types=list(types))


def move_time(offset: timedelta) -> Verb[None]:
    return verb("move_time", nothing, body=f"begin return clock_timestamp() + interval '{offset.total_seconds()} seconds'; end")
