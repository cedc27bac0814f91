"""Children: once per name, joined by `Wait`, whatever they and their parent meet.

The worker of these tests does not sweep: whoever ends the last child wakes the parent.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import Any

import psycopg
import pytest

from lanework import Handle
from lanework.testing import Clock
from tests.inside.house import House
from tests.pace import bound
from tests.sql.proof import planted

WITHOUT_SWEEP = 20.0


@pytest.mark.parametrize("where", ["thread", "process"])
def test_a_child_is_submitted_once_per_name(house: House, where: str) -> None:
    """Whatever runs again."""
    job = house.run(f"family_{where}", 3, failures=2)
    assert (job.status, job.result, job.attempt) == ("completed", 103, job.attempt)
    submits = house.words(job.id, "children")
    assert len(submits) == job.attempt >= 3 and len(set(submits)) == 1
    assert [child.name for child in house.app.children(job.id)] == ["one", "many[0]", "many[1]", "many[2]"]
    assert house.sql.one("select count(*) from lanework.all_jobs where parent = %s", job.id) == 4


def test_a_fan_out_of_two_thousand_and_a_join(house: House) -> None:
    handle = house.submit("family", list(range(2000)))
    job = house.end(handle, 90)
    assert (job.status, job.attempt) == ("completed", 2)
    assert [result for _, _, result in job.result] == list(range(2000))
    assert [name for name, _, _ in job.result[:2]] == ["k[0]", "k[1]"]


@pytest.mark.parametrize(
    ("policy", "status"),
    [
        ({"on_failure": "fail"}, "failed"),
        ({"on_failure": "fail", "tolerate": 1}, "failed"),
        ({"on_failure": "fail", "tolerate": 2}, "completed"),
        ({"on_failure": "continue"}, "completed"),
    ],
)
def test_policies(house: House, policy: dict[str, Any], status: str) -> None:
    """Two of four children fail. Seen red: with a `payloads` query that does not count them."""
    job = house.run("family", [1, -2, 3, -4], **policy)
    assert job.status == status
    if status == "failed":
        assert (job.error_class, job.error_code) == ("permanent", "LW-407")
        assert job.error is not None and "2 of its children did not complete" in job.error
        assert house.words(job.id, "start") == [""]  # its handler was not called again
    else:
        assert [status for _, status, _ in job.result] == ["completed", "failed", "completed", "failed"]


def test_a_cancelled_child_counts_as_one_that_did_not_complete(house: House) -> None:
    """And its end wakes the parent."""
    for policy, status in (("fail", "failed"), ("continue", "completed")):
        handle = house.submit("family", [1], on_failure=policy, gate="never")
        house.is_now(handle, "blocked")
        (child,) = house.app.children(handle.id)
        house.said(child.id, "start")
        house.app.cancel(child.id)
        assert house.end(handle, WITHOUT_SWEEP).status == status


def test_children_of_children(house: House) -> None:
    job = house.run("tree", 5)
    assert (job.status, job.result) == ("completed", 5)
    assert house.sql.one("select max(depth) from lanework.jobs_done") >= 5


def test_a_tree_has_a_depth(house: House) -> None:
    """Sixteen levels; the failure goes up. Seen red: without the limit it completes."""
    assert house.run("tree", 16).result == 16
    job = house.run("tree", 17)
    assert job.status == "failed"
    assert house.sql.one("select count(*) from lanework.jobs_failed where error like %s", "%a tree may not be deeper%") > 0


def test_a_job_has_so_many_children_at_most(house: House) -> None:
    with planted(house.sql, "submit_children", "> 100000", "> 5"):
        assert house.run("many_children", 5).result == 5
        job = house.run("many_children", 6)
        assert (job.status, job.error_code) == ("failed", "LW-304")
        assert house.app.children(job.id) == []


def test_what_children_inherit(house: House) -> None:
    gate = f"inherit {uuid.uuid4()}"
    handle = house.job("family").options(owner="ada", priority=42, max_age=500).submit([1, 2], gate=gate)
    house.is_now(handle, "blocked")
    parent = house.app.get(handle.id)
    kids = [house.app.get(child.id) for child in house.app.children(handle.id)]
    assert [(kid.owner, kid.priority, kid.deadline, kid.parent) for kid in kids] == [("ada", 42, parent.deadline, parent.id)] * 2
    house.open(gate)
    assert house.end(handle).status == "completed"


def test_options_of_a_child(house: House) -> None:
    for option in ("owner", "tags", "key"):
        job = house.run("child_options", option)
        assert (job.status, job.error_code) == ("failed", "LW-300")
    delayed = house.app.get(house.run("child_options", "delay").result)
    assert (delayed.status, delayed.run_at is not None) == ("scheduled", True)
    house.app.cancel(delayed.id)
    assert house.app.get(house.run("child_options", "priority").result).priority == 7
    in_session = house.run("child_options", "session").result
    house.is_now(in_session, "completed")


@pytest.mark.parametrize("when", ["queued", "running", "waiting"])
def test_cancel_flows_down(house: House, when: str) -> None:
    """To queued, running and waiting children. Seen red: without `cancel_families` in `freed` they live on."""
    if when == "queued":
        house.app.lanes.drain("kids")
    try:
        # waiting: a grandchild runs, its parent waits, and so does the one that is cancelled
        handle = house.submit("tree", 2, "never") if when == "waiting" else house.submit("family", [1, 2, 3], gate="never")
        house.is_now(handle, "blocked")
        if when == "running":
            for child in house.app.children(handle.id):
                house.said(child.id, "start")
        elif when == "waiting":
            house.until(lambda: len(descendants(house, handle)) == 2, "the grandchild")
            house.is_now(descendants(house, handle)[1], "running")
        assert handle.cancel() == "cancelled"
        house.until(lambda: not live(house, handle), "the children to end", WITHOUT_SWEEP)
        assert {house.status(child) for child in descendants(house, handle)} == {"cancelled"}
    finally:
        house.app.lanes.resume("kids")


def test_cancel_of_a_running_parent_flows_down(house: House) -> None:
    handle = house.submit("spawns")
    house.said(handle.id, "start")
    house.until(lambda: len(descendants(house, handle)) == 2, "the children")
    assert handle.cancel() == "stopping"
    assert house.end(handle).status == "cancelled"
    house.until(lambda: not live(house, handle), "the children to end", WITHOUT_SWEEP)


def test_a_large_family_is_cancelled_by_the_sweep(house: House) -> None:
    """Five hundred at once; the rest a bounded number a sweep."""
    house.app.lanes.drain("kids")
    try:
        handle = house.submit("family", list(range(1100)))
        house.is_now(handle, "blocked")
        handle.cancel()
        assert len(live(house, handle)) == 600
        house.sweep()
        house.sweep()
        assert live(house, handle) == []
    finally:
        house.app.lanes.resume("kids")


def test_a_parked_parent_has_no_slot(house: House) -> None:
    """Parent and children share a lane of one slot."""
    handles = [house.submit("family_single", [1, 2, 3], kind="leaf_single") for _ in range(3)]
    for handle in handles:
        assert [result for _, _, result in house.end(handle).result] == [1, 2, 3]


def test_children_that_end_while_their_parent_is_being_parked(house: House) -> None:
    """The common case of a short child. Nothing sweeps here: a wake-up that is lost is lost for ten
    minutes. Seen red: without the later looks of the worker that parked it."""
    handles = [house.submit("family", [n, n + 1], kind=kind) for n in range(50) for kind in ("leaf", "leaf_here")]
    begun = time.monotonic()
    jobs = [house.end(handle, 40) for handle in handles]
    assert {(job.status, job.attempt) for job in jobs} == {("completed", 2)}
    assert time.monotonic() - begun < bound(40)


def test_children_that_end_at_the_same_moment(house: House) -> None:
    """In two transactions, unseen by each other. Seen red: with SKIP LOCKED on the parent's row each leaves it to the other one."""
    dsn = house.app.settings.dsn
    assert dsn is not None
    house.app.lanes.drain("kids")
    try:
        handle = house.submit("family", [1, 2], on_failure="continue")
        house.is_now(handle, "blocked")
        time.sleep(1.5)  # whoever parked it has looked for the last time
        one, two = [child.id for child in house.app.children(handle.id)]
        with psycopg.connect(dsn) as first, psycopg.connect(dsn, autocommit=True) as second:
            first.execute("select lanework.cancel(%s)", (one,))
            beside = threading.Thread(target=second.execute, args=("select lanework.cancel(%s)", (two,)))
            beside.start()
            time.sleep(0.3)
            first.commit()
            beside.join()
        assert house.end(handle, WITHOUT_SWEEP).status == "completed"
    finally:
        house.app.lanes.resume("kids")


@pytest.mark.parametrize("where", ["thread", "process", "async"])
def test_waiting_in_a_slot_for_the_same_lane_is_refused(house: House, where: str) -> None:
    """With a message that says how. Seen red: without the check it would wait, with one slot for ever."""
    job = house.run(f"waits_{where}", same_lane=True)
    assert (job.status, job.error_code) == ("failed", "LW-314")
    assert job.error is not None and "return Wait([child])" in job.error and "lane 'inside'" in job.error
    assert house.run(f"waits_{where}", same_lane=False).result == 5


def test_a_parent_over_its_max_age_fails_while_it_waits(house: House) -> None:
    handle = house.job("family").options(max_age=1000).submit([1], gate="never")
    house.is_now(handle, "blocked")
    (child,) = house.app.children(handle.id)
    house.said(child.id, "start")
    clock = Clock(house.app)
    try:
        clock.advance(seconds=1001)
        house.sweep()
    finally:
        clock.reset()
    job = house.end(handle)
    assert (job.status, job.error_class) == ("failed", "timeout")
    house.is_now(child.id, "failed")


def test_wait_takes_handles_and_ids() -> None:
    from lanework import Wait
    from lanework._children import ChildHandle

    assert Wait([ChildHandle("a", 1), 2]).children == (1, 2)


def descendants(house: House, handle: Handle[Any]) -> list[int]:
    below = """with recursive below as (
        select id from lanework.all_jobs where parent = %s union all
        select j.id from lanework.all_jobs j join below b on j.parent = b.id) select id from below order by id"""
    return [row["id"] for row in house.sql.rows(below, handle.id)]


def live(house: House, handle: Handle[Any]) -> list[int]:
    alive = house.sql.rows("select id from lanework.jobs where id = any (%s)", descendants(house, handle))
    return [row["id"] for row in alive]
