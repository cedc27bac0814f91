"""Promise 13: a job that kills its process three times is a dead letter; jobs that shared the process lose no try."""

from __future__ import annotations

import pytest

from tests.processes.harness import Site

pytestmark = pytest.mark.processes


@pytest.mark.timeout(180)
def test_poison_among_good_jobs(site: Site) -> None:
    site.start()
    good = [site.submit(type, name="go") for type in ("hold", "hold_thread", "hold_process") for _ in range(3)]
    for job in good:
        site.began(job)
    poison = {"leaves": "exit code 7", "segfaults": "signal 11 (SIGSEGV)", "hungry": "out of memory"}
    ids = {type: site.submit(type) for type in poison}
    site.until(lambda: site.sql.one("select count(*) from lanework.jobs_failed") == len(poison), "all poison to fail", 90)
    for type, cause in poison.items():
        dead = site.client.get(ids[type])
        assert (dead.status, dead.error_class) == ("failed", "crash_loop")
        causes = [one.cause or "" for one in site.client.attempts(ids[type])]
        assert all(cause in one for one in causes[-3:]), causes
    site.open("go")
    for one in site.ended(*good):
        assert (one.status, one.tries_used) == ("completed", 0)
    assert site.sql.one("select max(losses) from lanework.jobs_done") == 0
