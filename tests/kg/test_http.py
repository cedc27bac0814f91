"""Requests as people and programs send them: bodies without a type, keys, problems, a database that is away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from fastapi import Request

from kg.errors import FetchFailed, ModelAway, ModelFiles, ModelThrottled
from lanework._store.connect import connect
from lanework.api.problems import WRONG_HERE, ours
from lanework.config import Settings
from lanework.errors import LaneworkError
from tests.kg.house import House, open_house
from tests.servers import PrivateServer

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def _submit(house: House, body: Any, **headers: str) -> Any:
    return house.ask("contributor", "POST", "/jobs", json=body, headers=headers)


def test_what_curl_sends_is_json(house: House) -> None:
    """`curl -d '{…}'` calls its body a form."""
    job = house.ask("contributor", "POST", "/jobs", content=json.dumps({"type": "add", "args": {"a": 1}}), headers=FORM)
    assert job.status_code == 202
    changed = house.ask("platform_admin", "PATCH", "/admin/workers/lanes/interactive", content='{"max_slots": 3}', headers=FORM)
    assert changed.json() == {"name": "interactive", "changed": {"max_slots": {"old": 1, "new": 3}}}
    drained = house.ask("platform_admin", "PATCH", "/admin/workers/lanes/interactive", content='{"enabled": false}', headers=FORM)
    assert drained.json()["changed"] == {"enabled": {"old": True, "new": False}}


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"type": "add", "args": {"a": "x"}}, 422, "argument 'a': expected int"),
        ({"type": "ad", "args": {"a": 1}}, 422, "did you mean 'add'?"),
        ({"type": "add", "args": {"a": 1}, "priority": 5000}, 422, "priority"),
        ({"type": "add", "args": {"a": 1}, "colour": "red"}, 422, "colour"),
        ({"type": "add", "args": {"a": 1}, "run_at": "2030-01-01T00:00:00"}, 422, "time zone"),
        ({"type": "add", "args": {"a": 1}, "continues": 424242}, 404, "no job 424242"),
        ({"args": {"a": 1}}, 422, "type"),
        ([], 422, "body"),
    ],
)
def test_bad_submits_are_problems_that_say_what_is_wrong(house: House, body: Any, status: int, says: str) -> None:
    answer = _submit(house, body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert says in answer.json()["detail"]
    assert answer.json()["status"] == status
    assert house.ask("operator", "GET", "/jobs").json()["jobs"] == []


def test_what_is_no_json_is_refused(house: House) -> None:
    for content in (b"{", b"\xff\xfe", b"a=1&b=2", b""):
        assert house.ask("contributor", "POST", "/jobs", content=content, headers=FORM).status_code == 422


def test_a_body_has_a_limit(database: str) -> None:
    with open_house(database, body_limit=2048) as house:
        assert _submit(house, {"type": "add", "args": {"a": 1}, "tags": ["x" * 3000]}).status_code == 413

        def parts() -> Any:  # no Content-Length
            for _ in range(10):
                yield b" " * 1000

        assert house.ask("contributor", "POST", "/jobs", content=parts()).status_code == 413


def test_the_same_key_is_the_same_job(house: House) -> None:
    body = {"type": "add", "args": {"a": 1}}
    first = _submit(house, body, **{"Idempotency-Key": "k1"}).json()
    assert _submit(house, body, **{"Idempotency-Key": "k1"}).json()["id"] == first["id"]
    other = _submit(house, {"type": "add", "args": {"a": 2}}, **{"Idempotency-Key": "k1"})
    assert (other.status_code, other.json()["code"]) == (409, "LW-302")
    mine = house.ask("admin", "POST", "/jobs", json=body, headers={"Idempotency-Key": "k1"}).json()
    assert mine["id"] != first["id"]  # keys belong to their owner


def test_the_same_key_gets_the_same_answer(house: House, database: str) -> None:
    def make(name: str, key: str) -> Any:
        return house.ask("platform_admin", "POST", "/admin/workers/lanes", json={"name": name}, headers={"Idempotency-Key": key})

    first = make("night", "k")
    assert first.status_code == 201
    again = make("night", "k")
    assert (again.status_code, again.json(), again.headers["idempotency-replayed"]) == (201, first.json(), "true")
    assert make("night", "other").status_code in (409, 422)  # the lane is there
    assert make("day", "k").json()["code"] == "KG-112"
    token = house.ask("operator", "POST", "/tokens", json={}, headers={"Idempotency-Key": "t"}).json()
    replayed = house.ask("operator", "POST", "/tokens", json={}, headers={"Idempotency-Key": "t"}).json()
    assert (replayed["id"], replayed["secret"]) == (token["id"], None)
    with psycopg.connect(database) as db:
        assert token["secret"] not in str(db.execute("select * from kg.answers").fetchall())


@pytest.mark.parametrize(
    ("error", "status", "says", "after"),
    [
        (FetchFailed("the page answered 404"), 502, "the page answered 404", None),
        (ModelThrottled("asked for a pause"), 429, "asked for a pause", "5"),
        (ModelAway("no answer", retry_after=1.2), 503, "no answer", "2"),
        (ModelFiles("/secret/place is damaged"), 500, WRONG_HERE, None),
    ],
)
def test_what_others_did_wrong_is_told_and_what_is_wrong_here_is_not(
    error: LaneworkError, status: int, says: str, after: str | None
) -> None:
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": []})
    answer = asyncio.run(ours(request, error))
    assert (answer.status_code, answer.headers.get("Retry-After")) == (status, after)
    assert json.loads(bytes(answer.body))["detail"] == says


def test_deleting(house: House) -> None:
    job = _submit(house, {"type": "add", "args": {"a": 1}}).json()["id"]
    assert house.ask("contributor", "DELETE", f"/jobs/{job}").json() == {"id": job, "status": "cancelled"}
    assert house.ask("contributor", "DELETE", f"/jobs/{job}").json() == {"id": job, "status": "deleted"}
    assert house.ask("contributor", "GET", f"/jobs/{job}").status_code == 404


def test_a_running_job_is_not_deleted_but_told_how_to_stop(house: House, database: str) -> None:
    job = _submit(house, {"type": "add", "args": {"a": 1}}).json()["id"]
    with connect(database, Settings.load(), "test") as db:  # as a claim leaves it
        db.execute("update lanework.jobs set status = 'running', attempt = 1, claim_id = gen_random_uuid() where id = %s", [job])
    refused = house.ask("contributor", "DELETE", f"/jobs/{job}")
    assert (refused.status_code, refused.json()["code"]) == (409, "LW-315")
    assert f"POST /jobs/{job}/cancel" in refused.json()["detail"]
    assert house.ask("contributor", "POST", f"/jobs/{job}/cancel").json()["status"] == "stopping"
    assert house.ask("contributor", "GET", f"/jobs/{job}").json()["cancel_requested"] is True


def test_pages(house: House) -> None:
    ids = [_submit(house, {"type": "add", "args": {"a": n}}).json()["id"] for n in range(5)]
    page = house.ask("contributor", "GET", "/jobs?limit=2").json()
    assert [one["id"] for one in page["jobs"]] == [ids[4], ids[3]]
    page = house.ask("contributor", "GET", f"/jobs?limit=2&before={page['next']}").json()
    assert [one["id"] for one in page["jobs"]] == [ids[2], ids[1]]
    assert house.ask("contributor", "GET", "/jobs?status=running").json()["jobs"] == []
    assert house.ask("contributor", "GET", "/jobs?status=walking").status_code == 422
    assert house.ask("contributor", "GET", "/jobs?limit=0").status_code == 422


def test_acts_say_where_they_came_from(house: House, database: str) -> None:
    _submit(house, {"type": "add", "args": {"a": 1}})
    house.ask("platform_admin", "PATCH", "/admin/workers/lanes/interactive", json={"max_slots": 4})
    with psycopg.connect(database) as db:
        rows = db.execute("select actor, act, target, origin from lanework.audit_log where act = 'lane.set'").fetchall()
    assert rows == [("platform_admin", "lane.set", "lane:interactive", "http testclient")]


def test_while_the_database_is_away_nothing_is_acknowledged(private_server: Callable[..., PrivateServer]) -> None:
    server = private_server(durable=True)
    with open_house(server.dsn, processes=1) as house:
        kept = _submit(house, {"type": "add", "args": {"a": 1}}).json()["id"]
        house.work.settings = house.work.settings.changed(connect_timeout=1.0)
        server.stop()
        refused = _submit(house, {"type": "add", "args": {"a": 2}})
        assert (refused.status_code, refused.json()["code"]) == (503, "LW-200")
        assert int(refused.headers["retry-after"]) > 0
        ready = house.ask(None, "GET", "/health/ready")
        assert ready.status_code == 503
        assert house.ask(None, "GET", "/health/live").status_code == 200
        server.start()
        assert [one["id"] for one in house.ask("contributor", "GET", "/jobs").json()["jobs"]] == [kept]
        assert house.ask(None, "GET", "/health/ready").status_code == 200
