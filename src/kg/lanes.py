"""The platform's lanes: first values, for the start that finds no row of a lane. What an operator sets stays."""

from __future__ import annotations

from kg.config import KgSettings
from lanework import Lanework

#: Documents that are read at a time where no provider is asked: by rules, on this machine's own cores.
OWN_CORES = 2
MOST_SLOTS = 10_000


def declare(work: Lanework, settings: KgSettings) -> None:
    work.lane("interactive", max_slots=documents_at_once(settings), poll_interval_ms=2000, stale_timeout_minutes=30)
    # addresses are fetched in it: servers that do not answer must not keep other documents waiting
    work.lane("estimates", max_slots=8, poll_interval_ms=2000)
    work.lane("maintenance", max_slots=1, poll_interval_ms=15_000, stale_timeout_minutes=60)
    work.lane("system", max_slots=1, poll_interval_ms=30_000, stale_timeout_minutes=120)
    work.lane("embedding", max_slots=3, poll_interval_ms=2000, stale_timeout_minutes=30)
    work.lane("books", max_slots=None, worker_slots=1, poll_interval_ms=2000, stale_timeout_minutes=60)
    work.lane("ontology", max_slots=None, worker_slots=1, poll_interval_ms=5000, stale_timeout_minutes=45)


def documents_at_once(settings: KgSettings) -> int:
    """Four times as many as there may be calls of the provider: a document of one chunk has one call under way, and while it is
    parsed, or waits to be stored, it has none; on a machine that is busy many of them wait."""
    return OWN_CORES if settings.chat == "local" else min(MOST_SLOTS, max(OWN_CORES, 4 * settings.model_concurrency))
