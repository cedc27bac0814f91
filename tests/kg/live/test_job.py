"""The stream of one job (promise 29): its life in order, resumed after each event."""

from __future__ import annotations

import asyncio
import time

import psycopg
import psycopg.types.json
import pytest

from lanework.bench import sse
from tests.kg.live.following import PATIENCE, rest, served_submit, take
from tests.kg.served import Served, make_work
from tests.pace import bound


def test_a_job_s_stream_is_its_life_in_order_and_goes_on_after_each_event(served: Served, database: str) -> None:
    async def main() -> None:
        work = make_work(database)
        async with work, work.worker():
            job = await work.asubmit_json("speak", {})
            path = f"/jobs/{job.id}/stream"
            seen = await rest(await served.follow("operator", path))
            told = [one.kind for one in seen if one.kind != "progress"]
            assert told == ["submitted", "started", "line", "line", "line", "completed"]
            assert [one.data["data"]["text"] for one in seen if one.kind == "line"] == [f"line {n}" for n in range(3)]
            again = await rest(await served.follow("operator", path))
            for place, one in enumerate(again[:-1]):
                assert await rest(await served.follow("operator", path, one.id)) == again[place + 1 :]
            with pytest.raises(sse.Refused) as refused:  # a browser would come back for ever otherwise
                await served.follow("operator", path, again[-1].id)
            assert refused.value.status == 204

    served.run(main())


def test_progress_and_lines_come_while_the_job_runs(served: Served, database: str) -> None:
    async def main() -> None:
        work = make_work(database)
        async with work, work.worker():
            job = await work.asubmit_json("speak", {"seconds": 60})
            stream = await served.follow("operator", f"/jobs/{job.id}/stream")
            seen: list[str] = []
            async with asyncio.timeout(PATIENCE):
                while not {"line", "progress"} <= set(seen):
                    seen.append((await anext(stream)).kind)
            await work.acancel(job.id)
            assert (await rest(stream))[-1].kind == "cancelled"

    served.run(main())


def test_a_job_s_stream_does_not_wait_for_transactions_of_others(served: Served, database: str) -> None:
    async def main() -> None:
        job = await served_submit(served)
        stream = await served.follow("operator", f"/jobs/{job}/stream")
        assert [one.kind for one in await take(stream, 1)] == ["submitted"]
        with psycopg.connect(database) as held:
            held.execute("select pg_current_xact_id()")  # below it nothing is final
            start = time.monotonic()
            await asyncio.to_thread(served.work.cancel, job)
            assert (await rest(stream))[-1].kind == "cancelled"
            assert time.monotonic() - start < bound(2 * 2.0)

    served.run(main())
