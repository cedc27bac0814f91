"""What comes back from a body in a child process, and what it asks meanwhile."""

from __future__ import annotations

import signal
from datetime import timedelta

import pytest

from lanework._pools.remote import RemoteError
from lanework.errors import ConfigError, InvalidResult
from lanework.outcomes import Cancel, Done, Fail, Snooze
from tests.pools.children import LINUX, opened
from tests.pools.running import sync

pytestmark = LINUX


@sync
async def test_values_come_back_from_sync_and_async_bodies() -> None:
    value = {"a": [1, 2.5, None, True, "é\u2028\n"], "b": {}}
    async with opened() as pool:
        assert await pool("echo", value=value) == value
        assert await pool("echo_async", value=value) == value
        assert await pool("echo", value="x" * 200_000) == "x" * 200_000
        assert len(pool.spawned) == 1


@sync
async def test_outcomes_travel_as_values() -> None:
    async with opened() as pool:
        assert await pool("outcome", kind="done") == Done({"a": [1, "é"]})
        assert await pool("outcome", kind="snooze") == Snooze(timedelta(minutes=2))
        assert await pool("outcome", kind="cancel") == Cancel("enough")
        failed = await pool("outcome", kind="fail")
    assert isinstance(failed, Fail) and failed.error_class == "budget"
    assert isinstance(failed.error, RemoteError) and failed.error.is_a(ConnectionError)


@sync
async def test_an_error_is_told_by_names_and_text() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError) as caught:
            await pool("refuse")
    error = caught.value
    assert str(error) == "wait a little"
    assert error.mro_names[0] == "__main__.Refused" and error.type_name == "Refused"
    assert error.is_a(ConnectionError) and error.is_a(OSError) and not error.is_a(ValueError)
    assert error.attributes == {"status_code": 429, "retry_after": 2.5, "code": "slow_down"}
    assert (error.status_code, error.retry_after) == (429, 2.5)
    assert "in refuse\n" in error.remote_traceback and "lanework/_child" not in error.remote_traceback


@sync
async def test_what_cannot_be_stored_names_its_place() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError, match=r"result\.at\[0\] is a set") as caught:
            await pool("unstorable")
        assert caught.value.is_a(InvalidResult) and caught.value.remote_code == "LW-410"


@sync
async def test_sys_exit_in_a_body_is_an_error_and_not_a_death() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError) as caught:
            await pool("leave")
        assert caught.value.is_a(SystemExit)
        assert len(pool.spawned) == 1


@sync
async def test_an_unknown_type_says_what_to_do() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError, match="import its module where the application is") as caught:
            await pool("nowhere")
        assert caught.value.is_a(ConfigError)


@sync
async def test_async_bodies_share_a_loop_but_no_tasks() -> None:
    async with opened() as pool:
        assert await pool("loop_identity") == await pool("loop_identity")


@sync
async def test_questions_are_answered_in_every_thread_and_task() -> None:
    async with opened() as pool:
        assert await pool("asks", state={"page": 1}) == [{"page": 1}] * 2
        assert await pool("asks_async", state="s") == [["s", number] for number in range(5)]


@sync
async def test_an_answer_that_is_an_error_is_raised_as_its_class() -> None:
    async with opened() as pool:
        assert await pool("asks_wrong", op="lost") == ["ClaimLost", "superseded"]
        assert await pool("asks_wrong", op="broken") == ["LaneworkError", "out of order"]


@sync
async def test_a_forked_process_can_be_ended_and_heard() -> None:
    async with opened() as pool:
        run = pool.begin("forks_helper")
        assert await run.task == -signal.SIGTERM
        assert run.link.log("stderr") == ["helper: from a fork", "ctx in a fork"]
