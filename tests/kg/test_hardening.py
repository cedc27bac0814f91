"""The door under pressure: limits, headers, sessions, what an answer may not say (promise 25)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg
import pytest
from argon2 import extract_parameters
from fastapi import FastAPI

from kg.access import secrets
from kg.api.headers import _ALWAYS
from kg.api.pace import Pace
from kg.errors import TooMany
from tests.kg.house import House, open_house
from tests.pace import bound

SUBMIT = {"type": "add", "args": {"a": 1}}
PASSWORD = "correct horse battery"


def login(house: House, name: str, password: str = PASSWORD, **headers: str) -> Any:
    return house.ask(None, "POST", "/login", json={"name": name, "password": password}, headers=headers)


def ann(house: House) -> None:
    house.act(house.access.add_user("ann", PASSWORD, ["contributor"], by="test"))


def within_a_second(done: Any) -> None:
    begun = time.monotonic()
    while not done():
        assert time.monotonic() - begun < bound(2)  # twice the bound
        time.sleep(0.02)


def test_attempts_are_counted_by_name_and_by_address(database: str) -> None:
    with open_house(database, logins_per_minute=3) as house:
        ann(house)
        for _ in range(3):
            assert login(house, "ann", "wrong").status_code == 401
        refused = login(house, "ann")
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 61
        assert refused.json()["code"] == "KG-102"
        # the address has used its attempts up, whatever the name
        assert login(house, "bob", "wrong").status_code == 429
        with psycopg.connect(database) as db:
            db.execute("delete from kg.attempts where key like 'login:from:%'")
        # and the name has, from wherever
        assert login(house, "ann").status_code == 429
        with psycopg.connect(database) as db:
            db.execute("update kg.attempts set since = since - interval '2 min'")
        assert login(house, "ann").status_code == 200


def test_links_cannot_be_guessed_for_long(database: str) -> None:
    with open_house(database, logins_per_minute=3) as house:
        told = [house.client.get("/login/guess", follow_redirects=False).status_code for _ in range(5)]
        assert told == [401, 401, 401, 429, 429]


def test_submits_have_a_limit(database: str) -> None:
    with open_house(database, submits_per_minute=10) as house:
        answers = [house.ask("contributor", "POST", "/jobs", json=SUBMIT) for _ in range(4)]
        refused = [one for one in answers if one.status_code == 429]
        assert refused
        assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
        assert house.ask("admin", "POST", "/jobs", json=SUBMIT).status_code == 202  # each user has his own
        assert house.ask("contributor", "GET", "/jobs").status_code == 200


def test_a_pace_refills() -> None:
    pace = Pace(6000)
    refused = 0
    for _ in range(700):
        try:
            pace.take("x")
        except TooMany as error:
            assert error.retry_after >= 1
            refused += 1
    assert refused
    time.sleep(0.05)
    pace.take("x")


def test_bodies_have_a_limit(database: str) -> None:
    with open_house(database, body_limit=2000) as house:
        large = {"type": "add", "args": {"a": 1, "x": "y" * 3000}}
        told = house.ask("contributor", "POST", "/jobs", json=large)
        assert (told.status_code, told.headers["content-type"]) == (413, "application/problem+json")

        def pieces() -> Any:  # its length is not told
            yield from [b'{"type": "add", '] + [b" " * 500] * 10

        assert house.ask("contributor", "POST", "/jobs", content=pieces()).status_code == 413


def test_every_answer_has_the_headers(house: House) -> None:
    async def broken() -> None:
        raise RuntimeError("canary-in-an-exception")

    from lanework.api import Routes

    routes = Routes(house.api.state.door)
    routes.add("GET", "/broken", broken, needs=None, because="a test")
    house.api.include_router(routes.router)
    answers = [
        house.ask("contributor", "GET", "/me"), house.ask(None, "GET", "/me"), house.ask("contributor", "GET", "/nowhere"),
        house.ask("contributor", "GET", "/admin/users"), house.ask("contributor", "POST", "/jobs", json=[]),
        house.ask("contributor", "PUT", "/jobs", json={}), house.ask(None, "GET", "/health/ready"),
        house.ask("contributor", "POST", "/jobs", content=b"x" * 2_000_000), house.ask(None, "GET", "/broken"),
    ]  # fmt: skip
    assert [one.status_code for one in answers] == [200, 401, 404, 403, 422, 405, 200, 413, 500]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in _ALWAYS} == _ALWAYS, answer.url
    # nothing of what went wrong inside is told
    assert "canary" not in answers[-1].text
    assert "Traceback" not in answers[-1].text
    assert answers[-1].headers["content-type"] == "application/problem+json"


def test_no_other_site_may_read_unless_it_is_named(house: House, database: str) -> None:
    ask = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
    for method in ("GET", "OPTIONS"):
        told = house.client.request(method, "/health/live", headers=ask)
        assert not [name for name in told.headers if name.startswith("access-control")]
    with open_house_again(database, cors="https://elsewhere.example") as other:
        told = other.client.options("/jobs", headers=ask)
        assert told.headers["access-control-allow-origin"] == "https://elsewhere.example"
        assert "access-control-allow-credentials" not in told.headers
        assert told.headers["content-security-policy"]
        wrong = other.client.options("/jobs", headers=ask | {"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in wrong.headers


def open_house_again(database: str, **settings: Any) -> Any:
    """The same database, whose users are there already."""
    from contextlib import contextmanager

    from fastapi.testclient import TestClient

    from kg.app import make_api
    from kg.config import KgSettings
    from tests.kg.house import make_work

    @contextmanager
    def opened() -> Any:
        work = make_work(database)
        api: FastAPI = make_api(KgSettings.load(**settings), work)
        with TestClient(api, raise_server_exceptions=False) as client:
            yield House(api, work, client)

    return opened()


def test_a_login_never_takes_over_a_given_session(house: House) -> None:
    """Who plants a cookie in somebody's browser is not in when that one logs in."""
    ann(house)
    planted = "lws_" + "A" * 43
    house.client.cookies.set("kg_session", planted)
    assert house.ask(None, "GET", "/me").status_code == 401
    entered = login(house, "ann")
    assert entered.status_code == 200
    first = entered.cookies["kg_session"]
    house.client.cookies.clear()
    second = login(house, "ann").cookies["kg_session"]
    assert len({planted, first, second}) == 3
    house.client.cookies.clear()
    assert house.ask(None, "GET", "/me", headers={"Cookie": f"kg_session={planted}"}).status_code == 401
    # a session is no token, and a token no session
    assert house.ask(None, "GET", "/me", headers={"Authorization": f"Bearer {first}"}).status_code == 401
    assert house.ask(None, "GET", "/me", headers={"Cookie": f"kg_session={house.tokens['admin']}"}).status_code == 401


def test_a_new_password_ends_sessions(house: House) -> None:
    ann(house)
    assert login(house, "ann").status_code == 200
    assert house.ask(None, "GET", "/me").status_code == 200
    house.act(house.access.set_user("ann", password="another password", by="test"))
    within_a_second(lambda: house.ask(None, "GET", "/me").status_code == 401)
    assert login(house, "ann").status_code == 401
    assert login(house, "ann", "another password").status_code == 200


def test_who_is_disabled_cannot_come_back(house: House) -> None:
    ann(house)
    token = house.act(house.access.create_token("ann", "", by="test")).secret
    link = house.act(house.access.create_link("ann", by="test"))
    house.tokens["ann"] = token
    assert house.ask("ann", "GET", "/me").status_code == 200
    house.act(house.access.set_user("ann", disabled=True, by="test"))
    within_a_second(lambda: house.ask("ann", "GET", "/me").status_code == 401)
    assert login(house, "ann").status_code == 401
    assert house.client.get(f"/login/{link}", follow_redirects=False).status_code == 401
    house.act(house.access.set_user("ann", disabled=False, by="test"))
    assert house.ask("ann", "GET", "/me").status_code == 401  # what was ended stays ended
    assert login(house, "ann").status_code == 200


def test_another_role_counts_within_a_second(house: House) -> None:
    assert house.ask("contributor", "GET", "/admin/workers/status").status_code == 403
    house.act(house.access.set_user("contributor", roles=["platform_admin"], by="test"))
    within_a_second(lambda: house.ask("contributor", "GET", "/admin/workers/status").status_code == 200)
    house.act(house.access.set_user("contributor", roles=["read_only"], by="test"))
    within_a_second(lambda: house.ask("contributor", "GET", "/admin/workers/status").status_code == 403)


@pytest.mark.parametrize("kind", ["link", "token", "session"])
def test_what_has_expired_is_out(house: House, database: str, kind: str) -> None:
    ann(house)
    link = house.act(house.access.create_link("ann", by="test"))
    token = house.act(house.access.create_token("ann", "", days=1, by="test")).secret
    assert login(house, "ann").status_code == 200
    with psycopg.connect(database) as db:
        db.execute("update kg.credentials set expires_at = now() - interval '1 s' where kind = %s", [kind])
    house.tokens["ann"] = token
    answers = {
        "session": house.ask(None, "GET", "/me").status_code == 401,
        "token": house.ask("ann", "GET", "/me", headers={"Cookie": ""}).status_code == 401,
    }
    house.client.cookies.clear()
    answers["link"] = house.client.get(f"/login/{link}", follow_redirects=False).status_code == 401
    assert [name for name, out in answers.items() if out] == [kind]


def test_an_unknown_name_takes_as_long_as_a_known_one(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """One verification each, at the same cost: of the password of a user, of one who has none, and of nobody."""
    ann(house)
    costs = []
    verify = secrets._verify

    def noted(password: str, stored: str) -> bool:
        costs.append(extract_parameters(stored))
        return verify(password, stored)

    monkeypatch.setattr(secrets, "_verify", noted)
    for name in ("ann", "operator", "nobody"):
        assert login(house, name, "wrong password").json()["detail"] == "name or password do not fit"
    assert len(costs) == 3 and costs[0] == costs[1] == costs[2]


def test_passwords_are_hashed_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    seen = []
    real = secrets._hasher

    class Slow:
        def hash(self, password: str) -> str:
            seen.append(threading.current_thread().name)
            return real.hash(password)

        def verify(self, stored: str, password: str) -> bool:
            seen.append(threading.current_thread().name)
            return real.verify(stored, password)

    monkeypatch.setattr(secrets, "_hasher", Slow())

    async def both() -> bool:
        return await secrets.fits("a password", await secrets.hash_password("a password"))

    assert asyncio.run(both())
    assert len(seen) == 2
    assert all(name.startswith("argon2") for name in seen)


@pytest.mark.parametrize("name", ["\0", "x\0y", "ä", "'; drop table kg.users; --", "\ud800"])
def test_names_that_nobody_can_have(house: House, name: str) -> None:
    told = house.client.post("/login", content=f'{{"name": {__import__("json").dumps(name)}, "password": "x"}}')
    assert told.status_code in (401, 422)


def test_old_rows_leave(house: House, database: str) -> None:
    ann(house)
    assert login(house, "ann", "wrong").status_code == 401
    assert login(house, "ann").status_code == 200
    house.act(house.access.create_link("ann", by="test"))
    with psycopg.connect(database) as db:
        db.execute("update kg.credentials set expires_at = now() - interval '8 days' where kind <> 'token'")
        db.execute("update kg.attempts set since = now() - interval '2 h'")
    from kg._store.access import clean_up

    assert house.act(house.work._arun(clean_up())) >= 3
    with psycopg.connect(database) as db:
        assert db.execute("select count(*) from kg.credentials where kind <> 'token'").fetchone() == (0,)
        assert db.execute("select count(*) from kg.credentials").fetchone() == (6,)
