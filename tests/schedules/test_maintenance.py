"""Maintenance tasks from the outside: built in, or declared by the application."""

from __future__ import annotations

import asyncio

import pytest

from lanework import Context, Lanework
from lanework.errors import InvalidSchedule, TaskNotFound
from tests.schedules.reports import application, until


def test_built_in_tasks_run_and_tell(app: Lanework) -> None:
    names = [one.name for one in app.maintenance.list()]
    assert names == ["cleanup", "indexes", "partitions", "retention", "rollups", "seals"]
    app.maintenance.run_now("indexes", by="ada")

    async def main() -> None:
        async with app, app.worker():
            await until(lambda: _all_ran(app))

    async def _all_ran(app: Lanework) -> bool:
        return {one.task for one in await app.maintenance.aresults() if one.outcome == "ok"} == set(names)

    asyncio.run(main())
    with app:
        (indexes,) = app.maintenance.results("indexes")
        assert (indexes.outcome, indexes.asked_by, indexes.counts) == ("ok", "ada", {})
        assert indexes.seconds is not None and indexes.worker_id
        assert app.maintenance.get("indexes").last_outcome == "ok"


def test_tasks_of_the_application(database: str) -> None:
    state = {"fail": False}
    with application(database) as app:

        @app.maintenance("vacuum-cache", every=3600, timeout=5)
        def vacuum(ctx: Context) -> dict[str, int]:
            """Removes what is old."""
            if state["fail"]:
                raise OSError("disk")
            return {"removed": 3}

        @app.maintenance("later", cron="0 3 1 1 *")
        async def later(ctx: Context) -> None: ...

        async def main() -> None:
            async with app:
                await first()
                async with app.worker():
                    assert "vacuum-cache" not in [one.name for one in await app.maintenance.alist()]

        async def first() -> None:
            async with app.worker():
                await until(lambda: _outcomes("vacuum-cache", "ok"))
                (first,) = await app.maintenance.aresults("vacuum-cache")
                assert first.counts == {"removed": 3} and (await app.aget(first.job_id or 0)).type == "vacuum-cache:maintenance"
                state["fail"] = True
                await app.maintenance.adisable("vacuum-cache")
                await app.maintenance.arun_now("vacuum-cache", by="ada")
                await until(lambda: _outcomes("vacuum-cache", "failed", "ok"))
                task = await app.maintenance.aget("vacuum-cache")
                assert (task.enabled, task.description, task.timeout) == (False, "Removes what is old.", 5.0)
                assert "disk" in (task.last_error or "")
                await app.maintenance.aenable("vacuum-cache")
                assert [one["kind"] for one in (await app.ahealth())["alarms"]] == ["task"]
                await app.maintenance.aunregister("vacuum-cache")

        async def _outcomes(name: str, *wanted: str) -> bool:
            return tuple(one.outcome for one in await app.maintenance.aresults(name)) == wanted

        asyncio.run(main())


def test_bad_tasks_are_named(app: Lanework) -> None:
    with pytest.raises(InvalidSchedule, match="say when"):
        app.maintenance("x")(lambda ctx: None)
    with pytest.raises(InvalidSchedule, match="timeout: expected 1 to 86400"):
        app.maintenance("x", every=60, timeout=0)(lambda ctx: None)
    with pytest.raises(TaskNotFound, match="'nothing'"):
        app.maintenance.run_now("nothing")
    with pytest.raises(InvalidSchedule, match="built in; disable it instead"):
        app.maintenance.unregister("rollups")
