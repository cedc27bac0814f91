"""What a body writes, logs and reports is in its own log, and bounded."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path

import pytest

from lanework import _capture
from lanework._child.output import Output
from lanework._pools.remote import RemoteError
from tests.pools.children import LINUX, Pool, application, lives, opened
from tests.pools.link import FakeLink
from tests.pools.running import sync

pytestmark = LINUX


@sync
async def test_everything_a_job_writes_is_in_its_own_log() -> None:
    async with opened() as pool:
        first, second = pool.begin("writes"), pool.begin("echo", value=1)
        await asyncio.gather(first.task, second.task)
        assert first.link.log("stdout") == ["from print", "from C", "from a program", "no newline"]
        assert first.link.log("stderr") == ["to stderr"]
        assert first.link.log("info") == ["mine: from logging"]
        assert first.link.log("warning") == ["from ctx"]
        lines = first.link.log()
        assert lines.index("from a program") < lines.index("mine: from logging") < lines.index("no newline")
        assert second.link.log() == []


@sync
async def test_the_end_of_a_job_takes_what_is_in_the_pipes_without_waiting_for_a_turn_of_the_loop() -> None:
    pipes = [os.pipe(), os.pipe()]
    output = Output(asyncio.get_running_loop(), [reading for reading, _ in pipes], pid=0)
    first, second = FakeLink(), FakeLink()
    for link, text in ((first, "x" * 30_000 + "\n"), (second, "é")):
        output.begin(_capture.Sink(link))
        os.write(pipes[0][1], text.encode())
        os.write(pipes[1][1], "half a character: é".encode()[:-1])
        output.end()
    assert first.log() == ["x" * 8192 + "… (cut)", "half a character: \ufffd"]
    assert second.log() == ["é", "half a character: \ufffd"]
    output.close()
    for _, writing in pipes:
        os.close(writing)


@sync
async def test_c_buffers_are_flushed_at_the_end_of_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # it is for C too
    async with opened() as pool:
        run = pool.begin("writes_c_buffered")
        await run.task
        assert run.link.log("stdout") == ["from printf"]


@sync
async def test_a_flood_is_bounded_and_says_so() -> None:
    async with opened() as pool:
        printed, logged = pool.begin("floods", lines=30_000), pool.begin("logs_much", lines=30_000)
        await asyncio.gather(printed.task, logged.task)
        for run in (printed, logged):
            lines = run.link.log()
            assert len(lines) == 10_001 and lines[9_999] == "9999"
            assert lines[-1] == "… more than 10,000 lines: the rest is dropped"


@sync
async def test_a_long_line_is_cut() -> None:
    async with opened() as pool:
        run = pool.begin("long_line")
        await run.task
        assert run.link.log() == ["x" * 8192 + "… (cut)", "after"]


@sync
async def test_a_process_left_behind_does_not_write_into_the_next_job(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    caplog.set_level(logging.INFO, "lanework.child")
    async with opened() as pool:
        left = await pool("leaves_process", fifo=str(fifo))
        run = pool.begin("opens", fifo=str(fifo), wait=0.1)
        await run.task
        assert run.link.log() == ["mine"]
        async with asyncio.timeout(60):
            while "ghost" not in caplog.text:
                await asyncio.sleep(0.01)
        assert await pool.pid() == pool.spawned[0], "a helper process that stays is no reason to lose the warm child"
    assert not lives(left)


@sync
async def test_what_a_child_says_between_jobs_is_not_the_log_of_the_job_it_was_started_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "lanework.child")
    target = application(
        tmp_path,
        """
        app.hooks.child_start.append(lambda: print("loading the model"))
        @app.job
        def work(ctx): print("working")
        """,
    )
    pool, waiting = Pool(target), FakeLink()
    _capture.install()
    try:
        with _capture.captured(waiting):
            run = pool.begin("work")
            await run.task
        assert "loading the model" in caplog.text
        assert (run.link.log(), waiting.log()) == (["working"], [])
    finally:
        _capture.uninstall()
        await pool.pool.stop()


@sync
async def test_progress_is_merged_and_the_last_one_arrives() -> None:
    async with opened() as pool:
        run = pool.begin("reports", times=20_000)
        await run.task
        told = [data for op, data in run.link.told if op == "progress"]
        assert len(told) < 20
        assert told[-1] == {"fraction": 1.0, "message": "step 20000", "data": {"last": 20_000}}


@sync
async def test_progress_that_cannot_be_stored_is_an_error_where_it_was_made() -> None:
    async with opened() as pool:
        with pytest.raises(RemoteError, match="is nan, which JSON cannot hold") as caught:
            await pool("reports_nan")
        assert "in reports_nan" in caught.value.remote_traceback
