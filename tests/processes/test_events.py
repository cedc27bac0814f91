"""Events and metrics when processes die: each change is told once and counted once, and a follower misses nothing."""

from __future__ import annotations

import random
import threading

import pytest

from lanework import Event
from tests.processes.harness import Site
from tests.sql import truth

pytestmark = pytest.mark.processes


def test_nothing_is_lost_or_doubled_by_kills(site: Site) -> None:
    rng = random.Random(4)
    seen: list[Event] = []

    def follow() -> None:
        left = 3 * 16 + 1  # by its id the last one cannot be known: its event may be here before it
        for event in site.client.events(after="0-0", topics="job"):
            seen.append(event)
            left -= len(event.jobs) if event.kind == "submitted" else 0
            if left <= 0:
                return

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    workers = site.start_many(2, LANEWORK_UPKEEP="0.2")
    ids = []
    for _ in range(3):
        ids += [held := site.submit("hold"), *(site.submit("nap") for _ in range(15))]
        site.began(held)
        victim = workers.pop(rng.randrange(len(workers)))
        victim.kill_worker() if rng.random() < 0.5 else victim.kill_tree()
        workers.append(site.start(LANEWORK_UPKEEP="0.2"))
    site.open("go")
    site.completed(*ids)
    truth.check(site.sql)
    last = site.submit("nap")
    site.completed(last)
    follower.join(30)
    assert not follower.is_alive()
    for kind in ("submitted", "completed"):
        assert sorted(job for event in seen if event.kind == kind for job in event.jobs if job != last) == sorted(ids)
