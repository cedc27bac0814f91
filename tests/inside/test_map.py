"""`ctx.map`: order, isolation, what is run again, and how many at a time; in threads, in a process, and async."""

from __future__ import annotations

import pytest

from tests.inside.app import SECRET
from tests.inside.house import House
from tests.pace import bound

EVERYWHERE = pytest.mark.parametrize("where", ["thread", "process", "async"])


@EVERYWHERE
def test_results_are_in_the_order_of_the_items(house: House, where: str) -> None:
    """Seen red: with results in the order of their ends."""
    job = house.run(f"map_{where}", [5, 3, 9, 1, 3], pause=0.02, concurrency=3)
    assert job.result == [[5, 25], [3, 9], [9, 81], [1, 1], [3, 9]]
    assert (job.status, job.progress, job.progress_message) == ("completed", 1.0, "sq: 5 of 5")
    assert house.app.item_errors(job.id) == []
    assert house.run(f"map_{where}", []).result == []


@EVERYWHERE
def test_a_failed_item_fails_alone(house: House, where: str) -> None:
    """Seen red: with errors that are raised, the job is retried and fails; without the mask, the secret is in the row."""
    job = house.run(f"map_{where}", [1, 2, 3, 4], bad=[2, 4])
    assert (job.status, job.attempt, job.result) == ("completed", 1, [[1, 1], [3, 9]])
    assert house.sql.one("select partial from lanework.jobs_done where id = %s", job.id) is True
    errors = house.app.item_errors(job.id)
    assert [(error.item, error.error_class) for error in errors] == [("sq[1]", "unknown"), ("sq[3]", "unknown")]
    assert errors[0].error == "ValueError: item 2 is bad, and ••• too"
    assert errors[0].traceback is not None and "ValueError" in errors[0].traceback and SECRET not in errors[0].traceback
    assert house.words(job.id, "errors") == ["['sq[1]', 'sq[3]']"]
    assert (job.progress, job.progress_message) == (1.0, "sq: 4 of 4")


@pytest.mark.parametrize("where", ["thread", "async"])
def test_an_item_that_must_wait_lets_the_job_wait(house: House, where: str) -> None:
    """A 429 or an empty budget is no fault of the item. Seen red: as an item's error, the job ends partial."""
    job = house.run(f"map_throttled_{where}")
    assert (job.status, job.attempt, job.result) == ("completed", 2, [1, 2, 3])
    assert house.app.item_errors(job.id) == []
    assert [house.words(job.id, "begin", attempt) for attempt in (1, 2)] == [["1", "2"], ["2", "3"]]


def test_errors_of_a_handler_that_says_partial_itself_are_not_doubled(house: House) -> None:
    job = house.run("map_own_partial")
    assert job.result == [[1, 1]]
    assert [error.item for error in house.app.item_errors(job.id)] == ["sq[1]"]


@EVERYWHERE
def test_only_what_is_missing_runs_again(house: House, where: str) -> None:
    """Items that failed are missing too. Seen red: without the look into the store all run again."""
    job = house.run(f"map_{where}", [1, 2, 3], bad=[2], failures=2, concurrency=1)
    assert (job.status, job.attempt, job.result) == ("completed", 3, [[1, 1], [3, 9]])
    assert [house.words(job.id, "begin", attempt) for attempt in (1, 2, 3)] == [["1", "2", "3"], ["2"], ["2"]]
    assert [error.item for error in house.app.item_errors(job.id)] == ["sq[1]"]  # one row, not one per attempt


@EVERYWHERE
def test_another_value_is_another_item(house: House, where: str) -> None:
    """Keyed by position and value. Seen red: keyed by position alone, the second attempt answers 4 for 9."""
    job = house.run(f"map_{where}", [1, 2, 3], later=[1, 9, 3, 4], failures=1)
    assert job.result == [[1, 1], [9, 81], [3, 9], [4, 16]]
    assert sorted(house.words(job.id, "begin", attempt=2)) == ["4", "9"]


@EVERYWHERE
def test_concurrency_is_a_bound_and_is_used(house: House, where: str) -> None:
    """Seen red: with a pool of `concurrency + 1`."""
    job = house.run(f"map_{where}", list(range(12)), concurrency=3, pause=0.05)
    now = most = 0
    for word in house.words(job.id):
        now += word.startswith("begin")
        now -= word.startswith("finish")
        most = max(most, now)
    assert (job.status, most) == ("completed", 3)


@pytest.mark.parametrize("concurrency", [0, 1001, True])
def test_concurrency_is_checked(house: House, concurrency: int) -> None:
    job = house.run("map_wrong", int(concurrency)) if concurrency is not True else house.run("map_wrong", -1)
    assert job.status == "failed" and job.error is not None and "concurrency: expected 1 to 1000" in job.error


@EVERYWHERE
def test_a_cancel_stops_between_items(house: House, where: str) -> None:
    """What is stored stays. Seen red (thread): without the look between items they run on until the slot is quarantined."""
    handle = house.submit(f"map_{where}", list(range(60)), concurrency=1, pause=0.05)
    house.said(handle.id, "finish 2")
    handle.cancel(reason="enough")
    job = house.end(handle)
    assert job.status == "cancelled"
    begun = len(house.words(job.id, "begin"))
    assert begun < bound(60)
    assert 2 <= len(house.app.steps(job.id)) <= begun
    house.until(lambda: house.worker.lanes["inside"].used == 0, "the body to end")
    assert len(house.words(job.id, "late")) <= 1  # the cancel may come between the look and the item


def test_items_may_have_transactions_of_their_own(house: House) -> None:
    """One block in another is refused; blocks of several items, beside each other, are not."""
    job = house.run("map_effects")
    assert (job.status, job.result, house.app.item_errors(job.id)) == ("completed", 3, [])
    assert sorted(house.ledger(job.id)) == ["0", "1", "2"]


def test_a_lost_claim_is_a_lost_claim(house: House) -> None:
    """Not a group of them: `except ClaimLost` in a handler must work."""
    handle = house.submit("map_lost")
    house.said(handle.id, "start", attempt=1)
    house.supersede(handle.id)
    house.open(f"zombie-{handle.id}-1")
    job = house.end(handle)
    assert (job.status, job.result) == ("completed", "attempt 2")
    house.said(handle.id, "refused", attempt=1)
    assert house.words(handle.id, "wrong") == []
