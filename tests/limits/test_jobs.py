"""Permits of jobs: declared with the type, or taken for a part of the body, wherever it runs."""

from __future__ import annotations

import re
import socket
import time

import pytest

from lanework import Lanework
from lanework.errors import ConfigError
from tests.limits import code
from tests.limits.conftest import House
from tests.pace import bound


def most_at_once(words: list[str], begin: str, end: str) -> int:
    now = most = 0
    for word in words:
        now += word.startswith(begin) - word.startswith(end)
        most = max(most, now)
    return most


def test_a_declared_permit_parks_without_a_slot(house: House) -> None:
    jobs = [house.submit("declared", n, "a") for n in range(5)]
    house.until(lambda: code.said() == ["begin 0", "begin 1"] or sorted(code.said()) == ["begin 0", "begin 1"])
    house.until(lambda: [house.blocked_on(job) for job in jobs[2:]] == ["permit:openai"] * 3)
    assert house.end(house.submit("plain")).status == "completed", "who needs something else goes on"
    info = house.app.permits.get("openai")
    assert (info.capacity, info.held, info.waiting) == (2, 2, 3)
    assert [holder.jobs for holder in info.holders] == [(jobs[0].id, jobs[1].id)]
    assert info.waiters[0].jobs == tuple(job.id for job in jobs[2:])
    house.open("a")
    ended = [house.end(job) for job in jobs]
    assert [one.status for one in ended] == ["completed"] * 5
    assert [one.tries_used for one in ended] == [0] * 5
    assert most_at_once(code.said(), "begin", "end") == 2
    house.until(lambda: house.app.permits.get("openai").held == 0)


def test_many_jobs_of_one_permit_keep_it_busy(house: House) -> None:
    begun = time.monotonic()
    jobs = [house.submit("declared", n) for n in range(60)]
    for job in jobs:
        assert house.end(job).status == "completed"
    assert most_at_once(code.said(), "begin", "end") <= 2
    assert time.monotonic() - begun < bound(20)


def test_a_raised_capacity_starts_those_that_wait(house: House) -> None:
    jobs = [house.submit("declared", n, "a") for n in range(4)]
    house.until(lambda: len(code.said()) == 2)
    house.app.permits.set("openai", 4, by="ann")
    house.until(lambda: len(code.said()) == 4)
    house.open("a")
    assert {house.end(job).status for job in jobs} == {"completed"}


def test_declared_permits_of_a_host(house: House) -> None:
    job = house.submit("both")
    assert house.end(job).result == sorted(["zeta", f"gpu@{socket.gethostname()}"])
    assert {one.name for one in house.app.permits.list()} >= {"zeta", f"gpu@{socket.gethostname()}"}


def test_a_job_that_fails_gives_its_declared_permit_back(house: House) -> None:
    ended = [house.end(house.submit("wrong_order")) for _ in range(3)]
    assert [one.status for one in ended] == ["failed"] * 3, "each of them had the one permit"
    house.until(lambda: house.app.permits.get("zeta").held == 0)


def test_names_below_a_declared_one_are_refused_at_once(house: House) -> None:
    ended = house.end(house.submit("wrong_order"))
    assert (ended.status, ended.error_class, ended.error_code) == ("failed", "permanent", "LW-542")
    assert "'alpha'" in (ended.error or "") and "'zeta'" in (ended.error or "")


@pytest.mark.parametrize("kind", ["in_thread", "in_loop", "in_child"])
def test_a_permit_for_a_part_of_the_body(house: House, kind: str) -> None:
    jobs = [house.submit(kind, 20.0) for _ in range(4)]
    fences = [house.end(job).result for job in jobs]
    assert len(set(fences)) == 4
    assert most_at_once(code.said(), "in", "out") == 1
    house.until(lambda: house.app.permits.get("inner").held == 0)


@pytest.mark.parametrize("kind", ["in_thread", "in_loop", "in_child"])
def test_a_body_that_waits_too_long_is_parked_and_woken(house: House, kind: str) -> None:
    first = house.submit("in_thread", None, "a")
    house.until(lambda: len(code.said()) == 1)
    second = house.submit(kind, 0.1)
    house.until(lambda: house.blocked_on(second) == "permit:inner")
    assert [holder.jobs for holder in house.app.permits.get("inner").holders] == [(first.id,)]
    house.open("a")
    ended = house.end(second)
    assert (ended.status, ended.tries_used) == ("completed", 0)
    assert ended.attempt > 1


def test_what_a_body_leaves_is_given_back(house: House) -> None:
    job = house.submit("leaves_it", max_tries=1)
    assert house.end(job).status == "failed"
    house.until(lambda: house.app.permits.get("inner").held == 0)


def test_the_parts_of_a_map_are_lines_of_their_own(house: House) -> None:
    assert house.end(house.submit("mapped")).result == sum(range(8))
    assert most_at_once(code.said(), "in", "out") == 2


def test_what_a_declaration_may_say() -> None:
    app = Lanework()
    for wrong in ("openai", 3, [""], ["a@b"], {"a": -1}, {"a": 10_001}, [7]):
        with pytest.raises(ConfigError, match="permits"):

            @app.job(permits=wrong)  # type: ignore[arg-type]
            def bad(ctx: object) -> None: ...

    with pytest.raises(ConfigError, match=re.escape("rate")):

        @app.job(rate="")
        def bad_rate(ctx: object) -> None: ...
