"""Who is told what on a stream, and until when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import psycopg
import psycopg.types.json
import pytest

from lanework._options import Options
from lanework.bench import sse
from tests.kg.live.following import PATIENCE, rest, served_submit, take, tell
from tests.kg.served import Served
from tests.pace import bound


def test_one_s_own_events_and_nothing_of_others(served: Served, database: str) -> None:
    served.user("ann", "contributor")
    served.user("bob", "contributor")

    async def main() -> None:
        stream = await served.follow("ann", "/events")
        mine, theirs = await served_submit(served, "ann"), await served_submit(served, "bob")
        bulk = await asyncio.to_thread(
            served.work._submit_many,
            served.work.handlers["speak"],
            served.work.handlers["speak"].bind_many([()] * 30),
            Options(owner="ann"),
        )
        with psycopg.connect(database, autocommit=True) as db:
            db.execute(
                "insert into lanework.progress (job_id, attempt, fraction, message)"
                " values (%s, 1, 0.5, 'mine'), (%s, 1, 0.6, 'secret')",
                [mine, theirs],
            )
            db.execute(
                "insert into lanework.logs (job_id, attempt, stream, text)"
                " values (%s, 1, 'stdout', 'mine'), (%s, 1, 'stdout', 'secret')",
                [mine, theirs],
            )
            db.execute("select lanework.tell('operator', 'lane.set', null, '{\"target\": \"secret\"}')")
        await asyncio.to_thread(served.work.cancel, mine)
        seen: list[sse.Message] = []
        async with asyncio.timeout(PATIENCE):
            while not seen or seen[-1].kind != "cancelled":
                seen.append(await anext(stream))
        assert [one.kind for one in seen if one.data["topic"] != "operator"] == [
            "submitted", "submitted", "progress", "lines", "cancelled",
        ]  # fmt: skip
        assert seen[1].data["jobs"] == [bulk[0], bulk[-1]] and seen[1].data["range"]
        assert all(set(one.data["jobs"]) <= {mine, bulk[0], bulk[-1]} for one in seen)
        assert "secret" not in str(seen) and str(theirs) not in [str(job) for one in seen for job in one.data["jobs"]]
        again = await take(await served.follow("ann", "/events", seen[0].id), len(seen) - 1)
        assert again == seen[1:]  # from the store as from the feed
        with pytest.raises(sse.Refused) as refused:
            await served.follow("ann", f"/jobs/{theirs}/stream")
        assert refused.value.status == 404

    served.run(main())


async def check_ends(served: Served, lose: Callable[[], Any]) -> None:
    """Both of ann's streams end within a second of her loss; another's goes on."""
    job = await served_submit(served, "ann")
    hers = [await served.follow("ann", "/events"), await served.follow("ann", f"/jobs/{job}/stream")]
    other = await served.follow("operator", "/events?topic=test")
    await asyncio.to_thread(lose)
    start = time.monotonic()
    for stream in hers:
        assert (await rest(stream))[-1].kind == "end"
    assert time.monotonic() - start < bound(2)
    await asyncio.to_thread(tell, served.work.settings.dsn or "", 1)
    assert (await take(other, 1))[0].kind == "told"


LOSSES: dict[str, Callable[[Served], Any]] = {
    "token": lambda served: served.act(served.access.revoke_token(served.ids["ann"], by="test")),
    "user": lambda served: served.act(served.access.set_user("ann", disabled=True, by="test")),
    "role": lambda served: served.act(served.access.set_user("ann", roles=["read_only"], by="test")),
}


@pytest.mark.parametrize("what", LOSSES)
def test_who_loses_his_right_loses_his_streams(served: Served, what: str) -> None:
    served.user("ann", "contributor")
    served.run(check_ends(served, lambda: LOSSES[what](served)))


def test_the_check_notices_a_right_that_is_never_looked_at_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody(*_: Any) -> list[Any]:
        return []

    served.user("ann", "contributor")
    monkeypatch.setattr("kg.api.door.Door.recheck", nobody)
    monkeypatch.setattr("tests.kg.live.following.PATIENCE", 3.0)
    with pytest.raises((AssertionError, TimeoutError)):
        served.run(check_ends(served, lambda: LOSSES["token"](served)))


def test_a_login_that_came_with_fewer_rights_hides_nobody_who_came_with_more(served: Served) -> None:
    token = served.user("ann", "operator")
    before = served.act(served.access.caller(token, ["token"]))
    served.act(served.access.set_user("ann", roles=["read_only"], by="test"))
    after = served.act(served.access.caller(token, ["token"]))
    assert served.act(served.access.changed([before, after])) == [before]
