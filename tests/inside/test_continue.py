"""A job that continues another inherits its steps, all or up to a named one."""

from __future__ import annotations

import pytest

from lanework import InvalidJob
from tests.inside.house import House


def test_steps_are_inherited(house: House) -> None:
    """Seen red: without `inherit_steps` everything runs again."""
    first = house.run("chapters", "c")
    assert (first.status, house.words(first.id, "run")) == ("failed", ["a", "b"])
    second = house.job("chapters").options(continues=first.id).submit()
    job = house.end(second)
    assert (job.status, job.result) == ("completed", ["a", "b", "c", "item 1", "item 2", 900_000])
    assert sorted(house.words(job.id, "run")) == ["big", "c", "item 1", "item 2"]
    assert [step.attempt for step in house.app.steps(job.id)][:3] == [0, 0, 1]
    third = house.end(house.job("chapters").options(continues=second).submit())  # a handle, and blobs too
    assert (third.result, house.words(third.id, "run")) == (job.result, [])
    assert house.sql.one("select count(*) from lanework.job_blobs where job_id = %s", third.id) == 1


@pytest.mark.parametrize(
    ("from_step", "again"),
    [
        ("a", ["a", "b", "c", "item 1", "item 2", "big"]),
        ("c", ["c", "item 1", "item 2", "big"]),
        ("items", ["item 1", "item 2", "big"]),
    ],
)
def test_from_a_step_on_they_are_dropped(house: House, from_step: str, again: list[str]) -> None:
    """A map is dropped with all its items. Seen red: with `<=` instead of `<` the named one is kept."""
    first = house.run("chapters")
    job = house.end(house.job("chapters").options(continues=first.id, from_step=from_step).submit())
    assert (job.result, sorted(house.words(job.id, "run"))) == (first.result, sorted(again))
    assert len(house.app.steps(first.id)) == 6  # the old job keeps its own


def test_what_is_refused(house: House) -> None:
    alive = house.submit("leaf_here", 1, "gate-continue")
    chapters = house.job("chapters")
    before = house.sql.one("select last_value from lanework.job_ids")
    with pytest.raises(InvalidJob, match="has not ended yet"):
        chapters.options(continues=alive).submit()
    with pytest.raises(InvalidJob, match="there is no job"):
        chapters.options(continues=2**60).submit()
    house.open("gate-continue")
    house.end(alive)
    with pytest.raises(InvalidJob, match="has stored no step 'nowhere'"):
        chapters.options(continues=alive, from_step="nowhere").submit()
    with pytest.raises(InvalidJob):
        chapters.options(continues="1")
    assert house.sql.one("select count(*) from lanework.all_jobs where id > %s", before) == 0


def test_many_jobs_cannot_continue_one(house: House) -> None:
    """Or they would run without the steps that they were promised."""
    first = house.run("chapters")
    with pytest.raises(InvalidJob, match="continues"):
        house.job("chapters").options(continues=first.id).submit_many([(), ()])
