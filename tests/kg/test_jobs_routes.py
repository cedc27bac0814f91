"""What people decide about jobs, one by one and by filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lanework import testing
from tests.kg.house import House, open_house


@pytest.fixture
def shop(database: str) -> Iterator[House]:
    """With a job that needs an approval, and one that fails."""
    with open_house(database) as house:

        @house.work.job(approval="always")
        async def costly(ctx: Any, n: int = 1) -> int:
            return n

        @house.work.job(max_tries=1)
        async def broken(ctx: Any, n: int = 1) -> None:
            raise ValueError(f"number {n} is no good")

        yield house


def _submit(house: House, type: str, who: str = "contributor", **args: Any) -> int:
    answer = house.ask(who, "POST", "/jobs", json={"type": type, "args": args})
    assert answer.status_code == 202, answer.text
    return int(answer.json()["id"])


def _problem(answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_approving(shop: House) -> None:
    job = _submit(shop, "costly")
    seen = shop.ask("approver", "GET", f"/jobs/{job}").json()
    assert seen["status"] == "awaiting_approval"
    _problem(shop.ask("approver", "POST", f"/jobs/{job}/approve", json={"hash": "another"}), 409, "LW-520")
    assert shop.ask("approver", "POST", f"/jobs/{job}/approve", json={"limit": -1}).status_code == 422
    assert shop.ask("approver", "POST", f"/jobs/{job}/approve", json={"hash": seen["hash"]}).json()["status"] == "approved"
    _problem(shop.ask("approver", "POST", f"/jobs/{job}/approve"), 409, "LW-521")
    assert shop.ask("approver", "GET", f"/jobs/{job}").json()["approval"]["by"] == "approver"


def test_rejecting(shop: House) -> None:
    job = _submit(shop, "costly")
    assert shop.ask("approver", "POST", f"/jobs/{job}/reject").status_code == 422  # a no has a reason
    assert shop.ask("approver", "POST", f"/jobs/{job}/reject", json={"reason": "too dear"}).json()["status"] == "cancelled"
    assert "too dear" in shop.ask("contributor", "GET", f"/jobs/{job}").text
    _problem(shop.ask("approver", "POST", "/jobs/424242/reject", json={"reason": "x"}), 404, "LW-310")


def test_retrying(shop: House) -> None:
    job = _submit(shop, "broken")
    _problem(shop.ask("contributor", "POST", f"/jobs/{job}/retry"), 409, "LW-510")
    testing.drain(shop.work)
    assert shop.ask("contributor", "GET", f"/jobs/{job}").json()["status"] == "failed"
    assert shop.ask("contributor", "POST", f"/jobs/{job}/retry", json={"max_age": 0}).status_code == 422
    assert shop.ask("contributor", "POST", f"/jobs/{job}/retry", json={"max_age": 60}).json() == {"id": job, "status": "approved"}


def test_moving_in_the_queue(shop: House) -> None:
    job = _submit(shop, "add", a=1)
    assert shop.ask("operator", "POST", f"/jobs/{job}/priority", json={"priority": 7}).json()["new"] == 7
    moved = shop.ask("platform_admin", "PATCH", f"/admin/workers/jobs/{job}/priority", json={"priority": -3}).json()
    assert (moved["old"], moved["new"], moved["status"]) == (7, -3, "approved")
    assert shop.ask("operator", "POST", f"/jobs/{job}/priority", json={"priority": 1001}).status_code == 422
    shop.ask("operator", "POST", f"/jobs/{job}/cancel")
    _problem(shop.ask("operator", "POST", f"/jobs/{job}/priority", json={"priority": 1}), 409, "LW-502")
    _problem(shop.ask("platform_admin", "PATCH", "/admin/workers/jobs/424242/priority", json={"priority": 1}), 404, "LW-310")


def test_editing(shop: House) -> None:
    job = _submit(shop, "add", a=1)
    assert shop.ask("contributor", "PATCH", f"/jobs/{job}", json={"args": {"a": 5}}).json()["payload"]["a"] == 5
    assert shop.ask("contributor", "PATCH", f"/jobs/{job}", json={"args": {"a": "five"}}).status_code == 422
    other = _submit(shop, "add", "admin", a=1)
    assert shop.ask("contributor", "PATCH", f"/jobs/{other}", json={"args": {"a": 5}}).status_code == 404
    shop.ask("contributor", "POST", f"/jobs/{job}/cancel")
    _problem(shop.ask("contributor", "PATCH", f"/jobs/{job}", json={"args": {"a": 6}}), 409, "LW-524")


def test_explaining(shop: House) -> None:
    job = _submit(shop, "add", a=1)
    told = shop.ask("contributor", "GET", f"/jobs/{job}/explain").json()
    assert told["job_id"] == job
    assert told["reason"]
    assert told["text"]
    assert shop.ask("contributor", "GET", f"/jobs/{_submit(shop, 'add', 'admin', a=1)}/explain").status_code == 404


def test_an_explanation_names_no_job_of_others(shop: House) -> None:
    def submit(who: str) -> int:
        return int(shop.ask(who, "POST", "/jobs", json={"type": "add", "args": {"a": 1}, "session": "chat-7"}).json()["id"])

    theirs, mine, last = submit("admin"), submit("contributor"), submit("contributor")
    told = shop.ask("contributor", "GET", f"/jobs/{last}/explain").json()
    assert told["reason"] == "session" and "another job" in told["text"] and f"job {mine}" in told["text"]
    assert str(theirs) not in told["text"].replace(str(mine), "").replace(str(last), "")
    assert set(told["waits_for"] + told["holders"]) >= {"job:?", f"job:{mine}"}
    told = shop.ask("admin", "GET", f"/jobs/{last}/explain").json()
    assert f"job {theirs}" in told["text"] and f"job:{theirs}" in told["waits_for"] + told["holders"]


def test_acts_by_filter_begin_with_a_dry_run(shop: House) -> None:
    mine = [_submit(shop, "add", a=n) for n in range(3)]
    other = _submit(shop, "add", "admin", a=9)
    body = {"filter": {"type": ["add"]}, "reason": "not needed"}
    counted = shop.ask("operator", "POST", "/jobs/bulk/cancel", json={**body, "dry_run": True})
    assert (counted.status_code, counted.json()["matched"], counted.json()["state"]) == (200, 4, "dry run")
    done = shop.ask("contributor", "POST", "/jobs/bulk/cancel", json=body, headers={"Idempotency-Key": "once"})
    assert (done.status_code, done.json()["done"], done.json()["by"]) == (201, 3, "contributor")  # what is his own
    again = shop.ask("contributor", "POST", "/jobs/bulk/cancel", json=body, headers={"Idempotency-Key": "once"})
    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (done.json()["id"], "true")
    assert {shop.ask("admin", "GET", f"/jobs/{job}").json()["status"] for job in mine} == {"cancelled"}
    assert shop.ask("admin", "GET", f"/jobs/{other}").json()["status"] == "approved"
    assert shop.ask("contributor", "GET", done.headers["location"]).json()["state"] == "done"


def test_acts_by_filter_refuse_what_they_cannot_mean(shop: House) -> None:
    bulk = "/jobs/bulk/cancel"
    _problem(shop.ask("operator", "POST", bulk, json={"filter": {}}), 422, "LW-500")
    _problem(shop.ask("contributor", "POST", bulk, json={"filter": {}}), 422, "LW-500")
    _problem(shop.ask("operator", "POST", bulk, json={"filter": {"status": ["walking"]}}), 422, "LW-500")
    assert shop.ask("operator", "POST", bulk, json={"filter": {"colour": "red"}}).status_code == 422
    assert shop.ask("operator", "POST", bulk, json={"filter": {"ids": [2**63]}}).status_code == 422
    assert shop.ask("contributor", "POST", bulk, json={"filter": {"owner": "admin"}}).status_code == 403
    assert shop.ask("approver", "POST", "/jobs/bulk/reject", json={"filter": {"type": ["costly"]}}).status_code == 422


def test_the_other_acts_by_filter(shop: House) -> None:
    waiting = [_submit(shop, "costly", n=n) for n in range(2)]
    filter = {"filter": {"type": ["costly"]}}
    moved = shop.ask("operator", "POST", "/jobs/bulk/priority", json={**filter, "priority": 4}).json()
    assert (moved["done"], shop.ask("operator", "GET", f"/jobs/{waiting[0]}").json()["priority"]) == (2, 4)
    assert shop.ask("approver", "POST", "/jobs/bulk/approve", json={"filter": {"ids": waiting[:1]}}).json()["done"] == 1
    assert shop.ask("approver", "POST", "/jobs/bulk/reject", json={**filter, "reason": "no"}).json()["done"] == 1
    dead = [_submit(shop, "broken", n=n) for n in range(2)]
    testing.drain(shop.work)
    assert shop.ask("operator", "POST", "/jobs/bulk/retry", json={"filter": {"ids": dead[:1]}}).json()["done"] == 1
    assert shop.ask("operator", "POST", "/jobs/bulk/archive", json={"filter": {"type": ["broken"]}}).json()["done"] == 1


def test_operations_are_seen_by_who_began_them(shop: House) -> None:
    _submit(shop, "add", a=1)
    mine = shop.ask("contributor", "POST", "/jobs/bulk/cancel", json={"filter": {"type": ["add"]}}).json()["id"]
    theirs = shop.ask("operator", "POST", "/jobs/bulk/cancel", json={"filter": {"type": ["add"]}}).json()["id"]
    assert [one["id"] for one in shop.ask("contributor", "GET", "/operations").json()["operations"]] == [mine]
    page = shop.ask("operator", "GET", "/operations?limit=1").json()
    assert ([one["id"] for one in page["operations"]], page["next"]) == ([theirs], theirs)
    assert [one["id"] for one in shop.ask("operator", "GET", f"/operations?before={theirs}").json()["operations"]] == [mine]
    _problem(shop.ask("contributor", "GET", f"/operations/{theirs}"), 404, "LW-501")
    _problem(shop.ask("contributor", "POST", f"/operations/{theirs}/stop"), 404, "LW-501")
    assert shop.ask("operator", "POST", f"/operations/{theirs}/stop").json()["state"] == "done"


def test_texts_that_cannot_be_stored_are_refused_wherever_they_are(shop: House) -> None:
    for content in ('{"type": "add", "args": {"a": 1}, "owner": "x\\u0000y"}', '{"type": "add\\ud800"}', '{"\\udfff": 1}'):
        _problem(shop.ask("admin", "POST", "/jobs", content=content), 422, "LW-305")
    _problem(shop.ask("operator", "GET", "/jobs?owner=a%00b"), 422, "LW-305")
    _problem(shop.ask("operator", "GET", "/admin/permits/a%00b"), 422, "LW-305")
    assert shop.ask("operator", "GET", f"/jobs/{2**63}").status_code == 422
    assert shop.ask("operator", "POST", "/jobs", content='{"type": "add", "args": {"a": NaN}}').status_code == 422
    smile = shop.ask("admin", "POST", "/jobs", content='{"type": "add", "args": {"a": 1}, "owner": "\\ud83d\\ude00"}')
    assert smile.json()["owner"] == "😀"  # a pair is a character
