"""What a dead worker leaves behind is ended before its jobs are given back: never two bodies of one job."""

from __future__ import annotations

import pytest

from tests.processes.harness import Site

pytestmark = pytest.mark.processes


def test_orphans_end_before_the_next_attempt(site: Site) -> None:
    """With a supervisor not even a process in a session of its own escapes; a companion ends the children's groups."""
    site.lane("a", "with_family")
    site.lane("b", "with_family_too")
    supervised = site.start(lanes="a", wait=False)
    inside = site.start_inside(lane="b")
    site.until(supervised.ready, "the supervised one")
    ids = [site.submit("with_family"), site.submit("with_family_too")]
    for job in ids:
        site.began(job, 1)
    site.start(lanes="ab")
    supervised.kill_worker()
    inside.kill_worker()
    for ended in site.completed(*ids):
        assert (ended.attempt, ended.tries_used) == (2, 0)
    for job, kin in zip(ids, (("child", "stranger"), ("child",)), strict=True):
        for one in kin:
            assert last_sign_of_life(site, f"{one}-{job}-1") < site.began(job, 2).at


def last_sign_of_life(site: Site, name: str) -> float:
    return float((site.folder / name).read_text().splitlines()[-1].split()[1])
