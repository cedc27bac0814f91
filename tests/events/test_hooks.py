"""Hooks in process: told of what happened to this process's jobs, and of what happens elsewhere; harmless whatever they do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from lanework import Cancel, ConfigError, Context, HookEvent, Lanework, Retryable, Snooze
from lanework._services.hooking import HookRunner
from lanework.hooks import KINDS, Kind
from lanework.job import Handle
from tests.sql.engine import Engine, connect


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    with Lanework(database, beat=0.2, idle_beat=0.2, sweep=0.2, upkeep=0.2) as app:
        app.lane("default", max_slots=None, poll_interval_ms=100)
        yield app


def declare(app: Lanework) -> Any:
    @app.job("end", max_tries=2, backoff_base=0.01)
    async def end(ctx: Context, how: str) -> Any:
        match how:
            case "retry":
                await asyncio.sleep(0.05)
                if ctx.attempt == 1:
                    raise Retryable("once more")
            case "snooze" if ctx.attempt == 1:
                return Snooze(0.01)
            case "cancel":
                return Cancel("enough")
            case "fail":
                raise ValueError("broken")
            case "transaction":
                async with ctx.atransaction() as tx:
                    return await tx.finish(1)
        return None

    return end


def told_of(app: Lanework, *kinds: Kind) -> list[HookEvent]:
    found: list[HookEvent] = []
    for kind in kinds:
        app.on(kind)(found.append)
    return found


async def until(condition: Any, seconds: float = 90) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


def test_each_kind_with_what_it_is_about(app: Lanework) -> None:
    end = declare(app)
    found = told_of(app, "started", "completed", "failed", "retried", "snoozed", "cancelled")
    ours = threading.get_ident()
    elsewhere: list[bool] = []

    @app.on("completed")
    async def asynchronous(event: HookEvent) -> None:
        await asyncio.sleep(0)
        elsewhere.append(threading.get_ident() != ours)

    async def main() -> dict[str, Handle[Any]]:
        async with app, app.worker():
            handles = {how: await end.asubmit(how) for how in ("done", "retry", "snooze", "cancel", "fail", "transaction")}
            for handle in handles.values():
                await handle.await_(30)
        return handles

    ids = {handle.id: how for how, handle in asyncio.run(main()).items()}
    story: dict[str, list[str]] = {}
    for event in found:
        story.setdefault(ids[event.job_id or 0], []).append(event.kind)
        assert (event.type, event.lane) == ("end", "default")
    assert story == {
        "done": ["started", "completed"],
        "retry": ["started", "retried", "started", "completed"],
        "snooze": ["started", "snoozed", "started", "completed"],
        "cancel": ["started", "cancelled"],
        "fail": ["started", "retried", "started", "failed"],
        "transaction": ["started", "completed"],
    }
    (retried,) = (event for event in found if event.kind == "retried" and ids[event.job_id or 0] == "retry")
    assert (retried.attempt, retried.error_class, retried.outcome) == (1, "transient", "scheduled")
    assert retried.duration is not None and 0.05 <= retried.duration < 30
    assert elsewhere == [True] * 4


def test_a_hook_that_fails_or_hangs_harms_nobody_and_shows(app: Lanework, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanework._services.hooking.LEAVE_S", 0.1)
    end, release = declare(app), threading.Event()

    @app.on("started")
    def broken(event: HookEvent) -> None:
        raise ValueError("a hook's own trouble")

    @app.on("completed")
    def stuck(event: HookEvent) -> None:
        release.wait(60)

    async def main() -> None:
        async with app, app.worker() as worker:
            assert worker.hooks is not None
            worker.hooks._queue.maxsize = 50
            handles = await end.asubmit_many([("done",)] * 300)
            for handle in handles:
                assert (await handle.await_(30)).status == "completed"
            await until(lambda: worker.hooks and worker.hooks.dropped > 0)
            health = worker.health()["hooks"]
            assert health["waiting"] <= 50 and health["dropped"] >= 200 and health["failed"] >= 1
        release.set()

    asyncio.run(main())


def test_what_happens_elsewhere_is_heard_here(app: Lanework) -> None:
    end = declare(app)
    found = told_of(app, "recovered", "maintenance")

    async def main() -> None:
        async with app, app.worker(lanes=["none"]):
            await until(lambda: app._hub._seats > 0)
            await asyncio.sleep(0.3)
            handle = await end.asubmit("done")
            await asyncio.to_thread(_lose, str(app.settings.dsn))
            await until(lambda: {event.kind for event in found} == {"recovered", "maintenance"})
            (recovered,) = (event for event in found if event.kind == "recovered")
            assert (recovered.job_id, recovered.type, recovered.error_class) == (handle.id, "end", "worker_lost")
            assert recovered.error == "it fell silent"
            maintenance = next(event for event in found if event.kind == "maintenance")
            assert maintenance.outcome == "ok" and "seconds" in maintenance.data

    asyncio.run(main())


def _lose(dsn: str) -> None:
    """A claim of a worker that is gone."""
    with connect(dsn) as db:
        engine = Engine(db)
        lane, kind = (
            engine.one("select id from lanework.lanes where name = 'default'"),
            engine.one("select id from lanework.job_types"),
        )
        worker = engine.worker()
        assert len(engine.claim(worker, lane, kind)) == 1
        engine.rows("select * from lanework.end_worker(%s, 'dead', 'it fell silent', false)", worker)


def test_unknown_kinds_are_refused(app: Lanework) -> None:
    with pytest.raises(ConfigError, match="expected one of started"):
        app.on("finished")  # type: ignore[arg-type]
    assert not HookRunner.wanted(app.hooks)
    assert set(KINDS) >= {"started", "recovered", "maintenance"}
