"""`lanework verify`: what is broken is found, what heals is not told."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lanework.cli.commands import verify
from tests.cli.commands import Cli

#: One way to break each invariant; the worker is a dead one.
PLANTED = {
    "one_table": "insert into lanework.jobs_failed select j.*, now(), 'x' from lanework.jobs j",
    "places": "update lanework.jobs set status = 'completed'",
    "running": "update lanework.jobs set status = 'running', worker_id = 77, claim_id = gen_random_uuid()",
    "waiting": "update lanework.jobs set claim_id = gen_random_uuid()",
    "approvals": "update lanework.jobs set status = 'pending'",
    "attempts": "insert into lanework.attempts select id, 9, 1, now(), now(), 'retry' from lanework.jobs",
    "types": "update lanework.jobs set type_id = 999",
    "slots": "insert into lanework.lane_use select id, 77, 2 from lanework.lanes where name = 'quick'",
    "claims": "insert into lanework.claims select 77, 1, gen_random_uuid(), array[id] from lanework.jobs",
}


@pytest.mark.parametrize("check", verify.CHECKS)
def test_verify_finds_what_is_broken(
    check: str, cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "SECOND_LOOK", 0.0)
    submit()
    assert cli("verify") == 0, cli.out
    sql(PLANTED[check])
    assert cli("verify", "-o", "json") == 1
    found = {one["check"]: one["violations"] for one in json.loads(cli.out)["checks"]}
    assert found[check], found
    assert cli("verify") == 1 and f"BROKEN  {verify.CHECKS[check][0]}" in cli.out


def test_verify_forgives_what_heals(
    cli: Cli, submit: Callable[..., list[int]], sql: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row between two states is no violation: the second look finds it whole."""
    submit()
    sql(PLANTED["waiting"])
    monkeypatch.setattr("lanework.cli.commands.verify.time.sleep", lambda _: sql("update lanework.jobs set claim_id = null"))
    assert cli("verify") == 0
