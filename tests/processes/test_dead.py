"""Redrives and messages about dead letters while those who carry them are killed."""

from __future__ import annotations

import random

import pytest

from tests.processes.harness import Site

pytestmark = pytest.mark.processes


def dead(site: Site, count: int, type: str = "mortal") -> list[int]:
    ids = [site.submit(type) for _ in range(count)]
    assert {one.status for one in site.ended(*ids)} == {"failed"}
    return ids


def test_a_redrive_outlives_whoever_carries_it(site: Site) -> None:
    dice = random.Random(6)
    workers = site.start_many(2)
    ids, others = dead(site, 40), dead(site, 3, "mortal_too")
    (group,) = site.client.dead.groups(type="mortal")
    site.open("mended")
    redrive = site.client.dead.redrive(group, per_minute=600, by="ada")
    for _ in range(3):
        site.sql.rows("select pg_sleep(%s)", dice.uniform(0.5, 1.0))
        victim = dice.choice(workers)
        victim.kill_tree()
        workers[workers.index(victim)] = site.start(wait=False)
    site.until(lambda: site.client.dead.get_redrive(redrive.id).ended, "the redrive to end", 60)
    ended = site.completed(*ids)
    assert {one.tries_used for one in ended} == {0}
    done = site.client.dead.get_redrive(redrive.id)
    assert (done.state, done.moved, done.completed, done.failed) == ("done", 40, 40, 0)
    assert site.sql.one("select count(*) from lanework.redriven") == 40  # nobody was moved twice
    assert {site.status(id) for id in others} == {"failed"}


def test_a_message_outlives_whoever_sends_it(site: Site) -> None:
    """It is sent again, under the same id; and no dead letter is in two messages, or in none."""
    for n in range(2):
        (site.folder / f"die-telling-{n}").touch()
    site.start(LANEWORK_TEST_NOTIFIER="1")
    dead(site, 5)
    for left in (1, 0):
        site.until(lambda left=left: len(list(site.folder.glob("die-telling-*"))) == left, "the death of the sender", 60)  # type: ignore[misc]
        # the next try is due half a minute later: it need not be waited for
        site.sql.rows("update lanework.notifications set next_at = lanework.now() where state = 'pending'")
    dead(site, 5, "mortal_too")
    site.until(
        lambda: site.sql.one("select count(*) = 10 from lanework.notifications, unnest(letters) where state = 'sent'"), "all"
    )
    seen = told(site)
    first = [try_no for id, try_no, _ in seen if id == seen[0][0]]
    assert first == [1, 2, 3]
    messages = {id: count for id, _, count in seen}
    assert sum(messages.values()) == 10
    letters = site.sql.rows("select x from lanework.notifications, unnest(letters) x order by x")
    assert letters == site.sql.rows("select letter as x from lanework.jobs_failed order by letter")


def told(site: Site) -> list[tuple[str, int, int]]:
    file = site.folder / "told"
    rows = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [(id, int(tries), int(count)) for id, tries, count in rows]
