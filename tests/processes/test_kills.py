"""Promise 4: no job stays `running` without a living worker."""

from __future__ import annotations

import pytest

from tests.processes.harness import Site

pytestmark = pytest.mark.processes


def test_a_dead_worker_is_noticed_at_once(site: Site) -> None:
    """2 s, while its guard lives; expiry alone would take 20 s here."""
    worker = site.start(LANEWORK_EXPIRY="20", LANEWORK_FENCE_AFTER="15")
    job = site.submit("hold")
    site.began(job)
    worker.kill_worker()
    assert site.until(lambda: site.status(job) != "running" or site.client.get(job).attempt > 1, "the job to be given back") < 4
    site.began(job, 2)
    site.open("go")
    (ended,) = site.ended(job)
    assert (ended.status, ended.attempt, ended.tries_used) == ("completed", 2, 0)
