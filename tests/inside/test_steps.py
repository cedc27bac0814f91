"""Stored steps: run once in the life of a job, typed alike on every run, fenced."""

from __future__ import annotations

import pytest

from lanework._services import desk
from tests.inside.house import House

EVERYWHERE = pytest.mark.parametrize("where", ["thread", "process", "async", "own_loop"])
GOT = "[Point(x=7, way=(1, 2)), (1, 'two'), Answer(text='yes', score=0.5), {'t': [1, 2]}, None]"


@EVERYWHERE
def test_a_step_runs_once_and_has_the_same_type_on_every_run(house: House, where: str) -> None:
    """Seen red: without the look into the store every attempt runs its steps; with `fn`'s own value instead of the stored one
    the first run has other types than the later ones (a tuple in `plain`)."""
    job = house.run(f"steps_{where}", failures=2)
    assert (job.status, job.attempt, job.tries_used) == ("completed", 3, 2)
    assert house.words(job.id, "run") == ["point", "pair", "answer", "plain", "nothing"]
    assert house.words(job.id, "got") == [GOT] * 3
    stored = house.app.steps(job.id)
    assert [(step.key, step.attempt) for step in stored] == [
        ("point", 1), ("pair", 1), ("answer", 1), ("plain", 1), ("nothing", 1)
    ]  # fmt: skip
    assert [step.result for step in stored] == [
        {"x": 7, "way": [1, 2]},
        [1, "two"],
        {"text": "yes", "score": 0.5},
        {"t": [1, 2]},
        None,
    ]


def test_steps_of_a_job_that_has_many_are_asked_for_one_by_one(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen red: with a list of stored steps that is taken for whole when it was cut off."""
    monkeypatch.setattr(desk, "MOST_KEYS", 2)
    job = house.run("steps_async", failures=1)
    assert job.status == "completed"
    assert house.words(job.id, "run") == ["point", "pair", "answer", "plain", "nothing"]


@pytest.mark.parametrize("where", ["thread", "process"])
def test_a_large_result_becomes_a_blob(house: House, where: str) -> None:
    """Seen red: with the limit counted in characters, `ü` is refused by nobody and stored in the row."""
    job = house.run(f"big_{where}")
    assert (job.status, job.result, job.attempt) == ("completed", 900_000, 2)
    assert house.words(job.id, "run") == ["big"]
    (step,) = house.app.steps(job.id)
    assert step.result is None and step.blob is not None and step.blob.startswith("sha256:")


def test_large_steps_and_items_of_async_handlers(house: House) -> None:
    job = house.run("big_async")
    assert (job.status, job.result, job.error) == ("completed", 2_700_000, None)
    assert house.words(job.id, "run") == ["big"] * 3
    blobs = [step.blob for step in house.app.steps(job.id)]
    assert len(set(blobs)) == 1 and None not in blobs  # the same bytes are stored once
    assert house.sql.one("select count(*) from lanework.job_blobs where job_id = %s", job.id) == 2


def test_blobs(house: House) -> None:
    job = house.run("blobs")
    assert job.result[0].startswith("sha256:")


@pytest.mark.parametrize("name", ["", "x" * 201, "a\0b"])
def test_names_are_checked(house: House, name: str) -> None:
    if "\0" in name:  # a payload cannot carry it
        from lanework._steps import check_name
        from lanework.errors import InvalidResult

        with pytest.raises(InvalidResult, match="1 to 200 characters"):
            check_name(name)
        return
    job = house.run("names", name)
    assert (job.status, job.error_class, job.error_code) == ("failed", "permanent", "LW-410")
    assert job.error is not None and "expected a name of 1 to 200 characters" in job.error


def test_every_other_name_is_good(house: House) -> None:
    for name in ("x" * 200, "ü [1] 'quoted' %s", "a.b/c"):
        job = house.run("names", name)
        assert (job.status, [step.key for step in house.app.steps(job.id)]) == ("completed", [name])


@pytest.mark.parametrize("surrogate", [False, True])
def test_what_cannot_be_stored_fails_its_job_alone(house: House, surrogate: bool) -> None:
    """A result that is no JSON, and a name with half a character: both are the handler's fault, and named."""
    job = house.run("bad_step", surrogate)
    assert (job.status, job.error_class, job.error_code) == ("failed", "permanent", "LW-410")


def test_a_superseded_attempt_writes_nothing(house: House) -> None:
    """Promise 5. Seen red: with a `save_step` that does not ask `held`, the old attempt's step is taken."""
    handle = house.submit("zombie")
    house.said(handle.id, "start", attempt=1)
    house.supersede(handle.id)
    house.said(handle.id, "start", attempt=2)
    house.open(f"zombie-{handle.id}-1")
    house.said(handle.id, "end", attempt=1)
    refused = ["step", "map", "transact", "transaction", "child", "blob"]
    assert house.words(handle.id, "refused", attempt=1) == refused
    assert house.words(handle.id, "wrong") == house.words(handle.id, "wrote") == []
    assert house.app.steps(handle.id) == [] and house.ledger(handle.id) == [] and house.app.children(handle.id) == []
    house.open(f"zombie-{handle.id}-2")
    job = house.end(handle)
    assert (job.status, job.result, job.attempt) == ("completed", "attempt 2", 2)
    assert house.words(handle.id, "wrote", attempt=2) == refused
    assert {step.attempt for step in house.app.steps(handle.id)} == {2}
