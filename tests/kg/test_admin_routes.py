"""What operators see and change: workers, dead letters, schedules, maintenance, limits, budgets, the audit log, health."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from lanework import testing
from tests.kg.house import House, open_house

SECRET = "a secret of the receiver"


@pytest.fixture
def shop(database: str) -> Iterator[House]:
    with open_house(database) as house:

        @house.work.job(max_tries=1)
        async def broken(ctx: Any, n: int = 1) -> None:
            raise ValueError(f"number {n} is no good")

        yield house


def _ask(house: House, method: str, path: str, body: Any = None, **more: Any) -> Any:
    return house.ask("platform_admin", method, f"/admin{path}", json=body, **more)


def _good(house: House, method: str, path: str, body: Any = None, status: int = 200) -> Any:
    answer = _ask(house, method, path, body)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def _problem(answer: Any, status: int, code: str | None = None) -> None:
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    assert answer.headers["content-type"] == "application/problem+json"


# -- workers


def test_lanes_are_fair_on_wish_and_explain_themselves(house: House) -> None:
    house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": 1}})
    changed = _good(house, "PATCH", "/workers/lanes/interactive", {"fair": True})
    assert changed["changed"] == {"fair": {"old": False, "new": True}}
    assert _good(house, "GET", "/workers/lanes/interactive")["fair"] is True
    assert _good(house, "GET", "/workers/lanes/interactive/explain")["reason"]
    _problem(_ask(house, "GET", "/workers/lanes/nowhere/explain"), 404, "LW-321")


def test_draining(house: House) -> None:
    assert _good(house, "POST", "/workers/drain", {"reason": "tonight"}) == {"drained": True, "changed": True}
    assert _good(house, "POST", "/workers/drain") == {"drained": True, "changed": False}
    assert _good(house, "POST", "/workers/resume") == {"drained": False, "changed": True}
    _problem(_ask(house, "POST", "/workers/424242/drain"), 404, "LW-503")
    _problem(_ask(house, "POST", "/workers/424242/resume"), 404, "LW-503")
    assert _ask(house, "POST", f"/workers/{2**70}/drain").status_code == 422


async def _steer(house: House) -> None:
    async with house.work.worker(lanes=["interactive"]):
        worker = (await house.work.aworkers())[0].id
        for act, state in (("drain", "draining"), ("resume", "active")):
            answer = await asyncio.to_thread(_ask, house, "POST", f"/workers/{worker}/{act}")
            assert answer.json() == {"id": worker, "state": state}, answer.text


def test_a_worker_is_drained_and_resumed(house: House) -> None:
    house.act(_steer(house))
    worker = _good(house, "GET", "/workers?ended=true")[0]["id"]
    _problem(_ask(house, "POST", f"/workers/{worker}/drain"), 409, "LW-504")


def test_freezing(house: House) -> None:
    house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": 1}})
    made = _good(house, "POST", "/workers/freezes", {"lanes": ["interactive"], "reason": "backup", "expires": 60}, 201)
    assert (made["lanes"], made["by"], made["reason"]) == (["interactive"], "platform_admin", "backup")
    assert [one["id"] for one in _good(house, "GET", "/workers/freezes")] == [made["id"]]
    assert _good(house, "DELETE", f"/workers/freezes/{made['id']}") == {"id": made["id"], "lanes": ["interactive"]}
    _problem(_ask(house, "DELETE", f"/workers/freezes/{made['id']}"), 404, "LW-507")
    _problem(_ask(house, "POST", "/workers/freezes", {"lanes": ["nowhere"]}), 404, "LW-321")
    assert _ask(house, "POST", "/workers/freezes", {"lanes": []}).status_code == 422


# -- dead letters


def _die(house: House, count: int = 3) -> dict[str, Any]:
    for n in range(count):
        house.ask("admin", "POST", "/jobs", json={"type": "broken", "args": {"n": n}})
    testing.drain(house.work)
    groups: list[dict[str, Any]] = _good(house, "GET", "/dead-letters")
    assert [one["count"] for one in groups] == [count]
    return groups[0]


def test_dead_letters_in_groups(shop: House) -> None:
    group = _die(shop)["fingerprint"]
    assert _good(shop, "GET", f"/dead-letters/{group}")["type"] == "broken"
    assert _good(shop, "GET", "/dead-letters?type=add") == []
    page = _good(shop, "GET", f"/dead-letters/jobs?group={group}&limit=2")
    assert len(page["jobs"]) == 2
    assert len(_good(shop, "GET", f"/dead-letters/jobs?group={group}&limit=2&after={page['next']}")["jobs"]) == 1
    _problem(_ask(shop, "GET", "/dead-letters/nothing"), 404, "LW-512")


def test_redriving(shop: House) -> None:
    group = _die(shop)["fingerprint"]
    made = _good(shop, "POST", "/dead-letters/redrives", {"group": group, "per_minute": 10}, 201)
    assert (made["state"], made["matched"], made["by"]) == ("canary", 3, "platform_admin")
    _problem(_ask(shop, "POST", "/dead-letters/redrives", {"group": group}), 409, "LW-513")
    assert _good(shop, "GET", f"/dead-letters/redrives/{made['id']}")["matched"] == 3
    assert [one["id"] for one in _good(shop, "GET", "/dead-letters/redrives?active=true")] == [made["id"]]
    assert _good(shop, "POST", f"/dead-letters/redrives/{made['id']}/stop", {"reason": "wait"})["state"] == "stopped"
    _problem(_ask(shop, "POST", f"/dead-letters/redrives/{made['id']}/stop"), 409, "LW-513")
    _problem(_ask(shop, "GET", "/dead-letters/redrives/424242"), 404, "LW-512")
    _problem(_ask(shop, "POST", "/dead-letters/redrives", {}), 422, "LW-511")
    assert _ask(shop, "POST", "/dead-letters/redrives", {"group": group, "per_minute": 0}).status_code == 422


def test_archiving(shop: House) -> None:
    group = _die(shop)["fingerprint"]
    assert _good(shop, "POST", "/dead-letters/archive", {"group": group, "dry_run": True}) == {"count": 3, "dry_run": True}
    assert _good(shop, "POST", "/dead-letters/archive", {"group": group, "reason": "known"}) == {"count": 3, "dry_run": False}
    assert _good(shop, "GET", "/dead-letters") == []
    _problem(_ask(shop, "POST", "/dead-letters/archive", {}), 422, "LW-511")


def test_rules(shop: House) -> None:
    group = _die(shop, 1)["fingerprint"]
    made = _good(shop, "POST", "/dead-letters/rules", {"group": group, "error_class": "permanent"}, 201)
    assert (made["error_class"], made["by"]) == ("permanent", "platform_admin")
    assert [one["id"] for one in _good(shop, "GET", "/dead-letters/rules")] == [made["id"]]
    _good(shop, "DELETE", f"/dead-letters/rules/{made['id']}", status=204)
    _problem(_ask(shop, "DELETE", f"/dead-letters/rules/{made['id']}"), 404, "LW-512")
    assert _ask(shop, "POST", "/dead-letters/rules", {"group": group, "error_class": "sad"}).status_code == 422


def test_webhooks_never_show_their_secrets(shop: House) -> None:
    path = "/dead-letters/webhooks/pager"
    made = _ask(shop, "PUT", path, {"url": "https://example.com/dead", "secret": SECRET})
    assert made.json()["signed"] is True
    everything = made.text + _ask(shop, "GET", "/dead-letters/webhooks").text + _ask(shop, "GET", "/audit").text
    assert SECRET not in everything
    short = _ask(shop, "PUT", path, {"secret": "too short"})
    assert short.status_code == 422
    assert "too short" not in short.text.replace("at least 16", "")
    _problem(_ask(shop, "PUT", path, {"url": "ftp://example.com"}), 422, "LW-511")
    assert _good(shop, "PUT", path, {"enabled": False})["enabled"] is False
    assert _good(shop, "GET", "/dead-letters/notifications") == []
    _good(shop, "DELETE", path, status=204)
    _problem(_ask(shop, "DELETE", path), 404, "LW-512")


# -- schedules and maintenance

NIGHTLY = {"name": "reports/nightly", "type": "tidy", "args": {"what": "old"}, "cron": "0 3 * * *", "tz": "Europe/Berlin"}


def test_schedules(house: House) -> None:
    made = _good(house, "POST", "/schedules", NIGHTLY, 201)
    assert (made["name"], made["payload"], made["changed_by"]) == ("reports/nightly", {"what": "old"}, "platform_admin")
    one = "/schedules/reports/nightly"
    assert [each["name"] for each in _good(house, "GET", "/schedules")] == ["reports/nightly"]
    assert _good(house, "GET", one)["tz"] == "Europe/Berlin"
    assert len(_good(house, "GET", f"{one}/next?count=3")) == 3
    changed = _good(house, "PATCH", one, {"cron": "0 4 * * *", "priority": 5})["changed"]
    assert (changed["cron"]["new"], changed["priority"]["new"]) == ("0 4 * * *", 5)
    assert _good(house, "PATCH", one, {"priority": None})["changed"]["priority"] == {"old": 5, "new": None}
    assert _good(house, "POST", f"{one}/pause", {"reason": "holidays"})["enabled"] is False
    assert _good(house, "POST", f"{one}/resume")["enabled"] is True
    ran = _good(house, "POST", f"{one}/run", status=201)
    assert ran["job_id"]
    assert ran["job_id"] in [each["job_id"] for each in _good(house, "GET", f"{one}/history")]
    _good(house, "DELETE", one, status=204)
    _problem(_ask(house, "GET", one), 404, "LW-531")


def test_a_run_is_one_run_for_one_key(house: House) -> None:
    _good(house, "POST", "/schedules", NIGHTLY, 201)
    path = "/schedules/reports/nightly/run"
    first, again = (_ask(house, "POST", path, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert again.json() == first.json()
    assert again.headers["idempotency-replayed"] == "true"
    assert len(_good(house, "GET", "/schedules/reports/nightly/history")) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"cron": "0 25 * * *"}, 422), ({"tz": "Europe/Nowhere"}, 422), ({"tz": "../../etc/passwd"}, 422), ({"every": 60}, 422),
        ({"overlap": "dance"}, 422), ({"args": {"what": 3}}, 422), ({"name": "no spaces"}, 422), ({"jitter": -1}, 422),
    ],
)  # fmt: skip
def test_schedules_that_are_wrong(house: House, change: dict[str, Any], status: int) -> None:
    assert _ask(house, "POST", "/schedules", {**NIGHTLY, **change}).status_code == status
    assert _good(house, "GET", "/schedules") == []


def test_a_schedule_that_is_there_is_not_made_again(house: House) -> None:
    _good(house, "POST", "/schedules", NIGHTLY, 201)
    _problem(_ask(house, "POST", "/schedules", NIGHTLY), 409, "LW-532")
    _problem(_ask(house, "PATCH", "/schedules/reports/nightly", {}), 422, "LW-530")
    _problem(_ask(house, "POST", "/schedules/nothing/run"), 404, "LW-531")


def test_maintenance(house: House) -> None:
    task = _good(house, "GET", "/maintenance")[0]["name"]
    assert _good(house, "POST", f"/maintenance/{task}/disable")["enabled"] is False
    assert _good(house, "POST", f"/maintenance/{task}/enable")["enabled"] is True
    assert _good(house, "POST", f"/maintenance/{task}/run", status=202)["name"] == task
    assert _good(house, "GET", f"/maintenance/{task}/runs") == []
    assert _good(house, "GET", "/maintenance/runs") == []
    _problem(_ask(house, "POST", "/maintenance/nothing/run"), 404, "LW-533")
    _problem(_ask(house, "GET", "/maintenance/nothing/runs"), 404, "LW-533")


# -- limits and budgets


def test_permits(house: House) -> None:
    assert _good(house, "PUT", "/permits/gpu/a", {"capacity": 2})["changed"]["capacity"]["new"] == 2
    held = house.work.permits.acquire("gpu/a", ttl=60)
    shown = _good(house, "GET", "/permits/gpu/a")
    assert (shown["held"], shown["holders"][0]["token"]) == (1, held.token)
    seen = house.ask("operator", "GET", "/admin/permits/gpu/a").json()
    assert (seen["held"], seen["holders"][0]["token"]) == (1, None), "who may not take it away does not get what it needs"
    assert [one["name"] for one in _good(house, "GET", "/permits")] == ["gpu/a"]
    _good(house, "DELETE", f"/permits/holds/{held.token}", status=204)
    _problem(_ask(house, "DELETE", f"/permits/holds/{held.token}"), 404, "LW-545")
    assert _ask(house, "DELETE", "/permits/holds/none").status_code == 422
    assert _ask(house, "PUT", "/permits/gpu/a", {"capacity": 10_001}).status_code == 422
    _problem(_ask(house, "GET", "/permits/nothing"), 404, "LW-545")


def test_rates(house: House) -> None:
    assert _good(house, "PATCH", "/rates/openai", {"requests": 60, "tokens": 9000})["changed"]["requests"]["new"] == 60
    assert _good(house, "PATCH", "/rates/openai", {"tokens": None})["changed"]["tokens"]["new"] is None
    until = datetime.fromisoformat(_good(house, "POST", "/rates/openai/pause", {"seconds": 30})["paused_until"])
    assert until > datetime.now(UTC)
    assert _good(house, "GET", "/rates/openai")["paused_until"]
    assert _good(house, "POST", "/rates/openai/resume") == {"name": "openai", "resumed": True}
    assert [one["name"] for one in _good(house, "GET", "/rates")] == ["openai"]
    assert _ask(house, "PATCH", "/rates/openai", {"requests": 0}).status_code == 422
    _problem(_ask(house, "GET", "/rates/nothing"), 404, "LW-545")
    _problem(_ask(house, "PATCH", "/rates/nothing", {}), 404, "LW-545")
    assert _ask(house, "PATCH", f"/rates/{'a' * 201}", {"requests": 1}).status_code == 422
    assert _ask(house, "PUT", f"/permits/{'a' * 201}", {"capacity": 1}).status_code == 422


def test_budgets(house: House) -> None:
    assert _good(house, "PUT", "/budgets/owner:ann", {"amount": "12.5", "per": "day"})["changed"]["per"]["new"] == "day"
    assert _good(house, "GET", "/budgets/owner:ann")["amount"].startswith("12.5")
    assert [one["name"] for one in _good(house, "GET", "/budgets")] == ["owner:ann"]
    assert _good(house, "GET", "/budgets/reservations?budget=owner:ann") == []
    for amount in (-1, "NaN", "Infinity", 1e15, "much"):
        assert _ask(house, "PUT", "/budgets/owner:ann", {"amount": amount}).status_code == 422
    _good(house, "DELETE", "/budgets/owner:ann", status=204)
    _problem(_ask(house, "DELETE", "/budgets/owner:ann"), 404, "LW-552")


# -- what was done, and how things stand


def test_the_audit_log(house: House) -> None:
    for name in ("one", "two", "three"):
        _good(house, "POST", "/workers/lanes", {"name": name}, 201)
    page = _good(house, "GET", "/audit?act=lane&limit=2")
    assert [one["target"] for one in page["entries"]] == ["lane:three", "lane:two"]
    more = _good(house, "GET", f"/audit?act=lane&before={page['next']}")
    assert ([one["target"] for one in more["entries"]], more["next"]) == (["lane:one"], None)
    assert (more["entries"][0]["actor"], more["entries"][0]["origin"]) == ("platform_admin", "http testclient")
    assert _good(house, "GET", "/audit?actor=nobody")["entries"] == []
    assert len(_good(house, "GET", "/audit?target=lane:two")["entries"]) == 1
    for wrong in ("limit=0", "before=x", "since=yesterday", "since=2020-01-01T00:00:00"):
        assert _ask(house, "GET", f"/audit?{wrong}").status_code == 422


def test_the_doctor(house: House) -> None:
    found = _good(house, "GET", "/doctor")
    assert {"schema", "server", "workers"} <= {one["check"] for one in found["findings"]}
    assert found["ok"] == all(one["level"] != "error" for one in found["findings"])


def test_health_in_detail_is_for_who_may_see_it(house: House) -> None:
    assert _good(house, "GET", "/health")["database"]["version"]
    assert house.ask("contributor", "GET", "/admin/health").status_code == 403
    assert "database" not in house.ask(None, "GET", "/health/ready").json()


def test_metrics_are_text_for_prometheus(house: House) -> None:
    for n in range(3):
        house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": n}})
    testing.drain(house.work)
    house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": 9}})
    answer = house.ask("operator", "GET", "/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    values = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    labels = '{lane="interactive",type="add"}'
    assert values[f"lanework_jobs_completed_total{labels}"] == "3"
    assert values[f"lanework_job_run_seconds_count{labels}"] == "3"
    assert values['lanework_job_run_seconds_bucket{lane="interactive",type="add",le="+Inf"}'] == "3"
    assert values[f"lanework_queue_depth{labels}"] == "1"
    assert values['lanework_lane_slots{lane="interactive"}'] == "1"
    places = [int(value) for name, value in values.items() if name.startswith("lanework_job_run_seconds_bucket")]
    assert places == sorted(places)
    heads = [line.split()[2] for line in answer.text.splitlines() if line.startswith("# TYPE")]
    assert len(heads) == len(set(heads))
