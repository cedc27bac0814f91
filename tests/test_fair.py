"""A fair lane from the outside: submits of every kind, a real worker, the command line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest

from lanework import Context, InvalidLane, Job, Lanework
from lanework.cli import main

started: list[str | None] = []


@pytest.fixture
def app(database: str) -> Iterator[Lanework]:
    started.clear()
    with Lanework(database, beat=0.2, idle_beat=0.2, sweep=0.5) as app:
        app.lane("shared", max_slots=4, poll_interval_ms=100, fair=True)
        yield app


def declare(app: Lanework) -> Job[[int], None]:
    @app.job(lane="shared", executor="async")
    async def work(ctx: Context, n: int) -> None:
        started.append(ctx.owner)

    return work


async def drain(app: Lanework) -> None:
    async with app, app.worker():
        async with asyncio.timeout(60):
            while await app.alist(status=("approved", "running"), limit=1):
                await asyncio.sleep(0.02)


@pytest.mark.parametrize("how", ["submit_many", "own connection", "switched on later"])
def test_another_owners_first_job_is_among_the_next(app: Lanework, database: str, how: str) -> None:
    work = declare(app)
    mine = work.options(owner="greedy")
    if how == "switched on later":
        app.lane("shared", max_slots=4, poll_interval_ms=100)
        mine.submit_many([(n,) for n in range(900)])
    elif how == "own connection":
        with psycopg.connect(database) as db:
            work.options(owner="greedy", connection=db).submit_many([(n,) for n in range(900)])
    else:
        mine.submit_many([(n,) for n in range(900)])
    for owner in ("ada", "bob"):
        work.options(owner=owner).submit(0)
        work.options(owner=owner).submit(1)
    if how == "switched on later":
        app.lanes.set("shared", fair=True)
    asyncio.run(drain(app))
    assert len(started) == 904
    # two turns of three owners, and a batch of four that is not in order in itself
    assert max(started.index("ada"), started.index("bob")) < 4
    assert {started[:10].count("ada"), started[:10].count("bob")} == {2}


def test_the_setting_is_checked(app: Lanework) -> None:
    declare(app).submit(1)
    with pytest.raises(InvalidLane, match="fair: expected true or false, got 'yes'"):
        app.lanes.set("shared", fair="yes")
    assert app.lanes.get("shared").fair


def test_the_command_line_sets_it(app: Lanework, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    app.lanes.create("plain")
    assert main(["--dsn", database, "lanes", "set", "plain", "--fair", "-o", "json"]) == 0
    assert app.lanes.get("plain").fair
    assert '"fair": {' in capsys.readouterr().out
    assert main(["--dsn", database, "lanes", "list", "plain"]) == 0
    assert "open, fair" in capsys.readouterr().out
    assert main(["--dsn", database, "lanes", "set", "plain", "--no-fair"]) == 0
    assert not app.lanes.get("plain").fair
