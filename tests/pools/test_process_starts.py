"""How children come and go: hooks, recycling, applications that cannot be loaded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lanework._child import backoff
from lanework.errors import ConfigError
from tests.pools.children import LINUX, application, opened
from tests.pools.running import sync

pytestmark = LINUX


@sync
async def test_a_child_is_replaced_after_so_many_jobs() -> None:
    async with opened(recycle_after=2) as pool:
        pids = [await pool.pid() for _ in range(5)]
        assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]


@sync
async def test_a_child_is_replaced_when_it_has_grown() -> None:
    async with opened(recycle_rss=1) as pool:
        assert await pool.pid() != await pool.pid()


@sync
async def test_hooks_run_once_per_child(tmp_path: Path) -> None:
    target = application(
        tmp_path,
        f"""
        from pathlib import Path
        def note(text):
            with open({str(tmp_path / "notes")!r}, "a") as file: file.write(text + "\\n")
        async def late(): note("async start")
        app.hooks.child_start += [lambda: note("start"), late]
        app.hooks.child_stop += [lambda: note("stop")]
        @app.job
        def work(ctx): note("work")
        """,
    )
    async with opened(target) as pool:
        await pool("work")
        await pool("work")
    assert (tmp_path / "notes").read_text().split("\n")[:-1] == ["start", "async start", "work", "work", "stop"]


@sync
async def test_an_import_that_fails_fails_every_run_and_is_not_tried_in_a_loop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target = application(tmp_path, "import there_is_no_such_module")
    async with opened(target, size=4) as pool:
        for _ in range(20):
            with pytest.raises(ConfigError, match="No module named 'there_is_no_such_module'") as caught:
                await pool("echo")
            assert "their_app.py" in str(caught.value)
        assert len(pool.spawned) == 1 and pool.pool.failure is not None
    assert "no child process for" in caplog.text


@sync
async def test_a_crash_during_import_shows_its_last_words(tmp_path: Path) -> None:
    target = application(tmp_path, "import os, sys; print('the library said this', file=sys.stderr); os.abort()")
    async with opened(target) as pool:
        with pytest.raises(ConfigError, match=r"signal 6 \(SIGABRT\)\nthe library said this"):
            await pool("echo")


@sync
async def test_an_import_that_hangs_is_ended(tmp_path: Path) -> None:
    target = application(tmp_path, "import time; time.sleep(1000)")
    async with opened(target, start_timeout=0.5) as pool:
        with pytest.raises(ConfigError, match="not ready after"):
            await pool("echo")


@sync
async def test_a_start_hook_that_fails_is_tried_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff, "FIRST_S", 0.05)
    target = application(
        tmp_path,
        f"""
        from pathlib import Path
        def load_model():
            if not Path({str(tmp_path / "model")!r}).exists():
                raise RuntimeError("the model is not there yet")
        app.hooks.child_start.append(load_model)
        @app.job
        def work(ctx): return "done"
        """,
    )
    async with opened(target) as pool:
        with pytest.raises(ConfigError, match="the model is not there yet"):
            await pool("work")
        (tmp_path / "model").touch()
        await asyncio.sleep(0.06)
        assert await pool("work") == "done"
        assert pool.pool.failure is None and len(pool.spawned) == 2


@sync
async def test_a_handler_in_another_module_is_found_by_its_home(tmp_path: Path) -> None:
    target = application(tmp_path, "")
    (tmp_path / "their_jobs.py").write_text("import __main__\n@__main__.app.job\ndef elsewhere(ctx): return 'found'\n")
    async with opened(target) as pool:
        assert await pool("elsewhere", home="their_jobs") == "found"
