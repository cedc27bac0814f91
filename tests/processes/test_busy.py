"""Promise 9: a healthy worker does not lose a claim because its job is busy, holding the GIL included."""

from __future__ import annotations

import pytest

from tests.processes.harness import Site

pytestmark = pytest.mark.processes


def test_a_gil_held_past_the_expiry(site: Site) -> None:
    """7 s in C with an expiry of 3 s, on the event loop and in a thread; each worker's guard watches the other."""
    site.lane("a", "busy")
    site.lane("b", "busy_thread")
    workers = [site.start(lanes=lane, wait=False) for lane in "ab"]
    for one in workers:
        site.until(one.ready, f"{one.name} to start", 60)
    ids = [site.submit(type, seconds=7) for type in ("busy", "busy_thread")]
    ended = site.ended(*ids, seconds=60)
    assert [(one.status, one.attempt, one.tries_used) for one in ended] == [("completed", 1, 0)] * 2
    assert site.sql.rows("select * from lanework.attempts") == []
    assert site.sql.rows("select id, ended_because from lanework.workers where state <> 'active'") == []
