"""Who may do what: every route for every role, scopes, tokens, logins (promises 24 and 25)."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI

from kg.access.access import Role
from kg.access.permissions import PERMISSIONS
from lanework.api import Policy, install, routes_of
from lanework.errors import ConfigError
from tests.doc_tables import role_permissions
from tests.kg.house import ROLES, House, open_house
from tests.pace import bound


def _filled(path: str) -> str:
    """A path with something that is not there."""
    return re.sub(r"{[a-z_]*(id|token)}", "999999", re.sub(r"{(name|group|link)(:path)?}", "nobody", path))


def _roles(house: House) -> list[Role]:
    found: list[Role] = house.act(house.access.roles())
    return found


def _routes(house: House) -> list[tuple[str, str, Policy]]:
    return [(one.method, one.path, one.policy) for one in routes_of(house.api) if one.policy is not None]


def test_every_route_asks_for_its_permission(house: House) -> None:
    grants = {role.name: role.permissions for role in _roles(house)}
    routes = _routes(house)
    assert len(routes) > 20
    wrong = []
    for method, path, policy in routes:
        for role in (None, *ROLES):
            # a stream that would begin is refused for its cursor: it would not end
            status = house.ask(role, method, _filled(path), json={}, headers={"Last-Event-ID": "no cursor"}).status_code
            if policy.permission is None:
                expected = status != 403 and (status != 401 or path.startswith("/login"))
            elif role is None:
                expected = status == 401
            elif policy.permission == "" or policy.permission in grants[role]:
                expected = status not in (401, 403)
            else:
                expected = status == 403
            if not expected:
                wrong.append(f"{method} {path} as {role}: {status}")
    assert not wrong


def test_policies_name_known_permissions(house: House) -> None:
    assert {policy.permission for _, _, policy in _routes(house)} - {None, ""} <= PERMISSIONS.keys()


def test_the_manual_tells_the_roles_as_they_are(house: House) -> None:
    rows = {role.name: {(name, scope) for name, scopes in role.permissions.items() for scope in scopes} for role in _roles(house)}
    assert rows == role_permissions()


def test_a_route_without_a_policy_stops_the_start() -> None:
    api = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    api.get("/naked")(lambda: None)
    with pytest.raises(ConfigError, match="GET /naked"):
        install(api)


def test_what_is_not_yours_is_not_found(house: House) -> None:
    job = house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": 1}}).json()
    for method, path in (
        ("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/attempts"), ("GET", "/steps"), ("GET", "/logs"),
        ("GET", "/children"), ("GET", "/events"), ("GET", "/stream"),
    ):  # fmt: skip
        theirs = house.ask("contributor", method, f"/jobs/{job['id']}{path}")
        nobodys = house.ask("contributor", method, f"/jobs/999999{path}")
        assert theirs.status_code == 404
        assert theirs.json()["detail"].replace(str(job["id"]), "999999") == nobodys.json()["detail"]
    assert house.ask("contributor", "GET", "/jobs").json()["jobs"] == []
    assert house.ask("contributor", "GET", "/jobs?owner=admin").json()["jobs"] == []
    assert [one["id"] for one in house.ask("operator", "GET", "/jobs").json()["jobs"]] == [job["id"]]
    assert house.ask("operator", "GET", f"/jobs/{job['id']}").json()["status"] == "approved"


def test_owner_is_who_submits(house: House) -> None:
    job = house.ask("contributor", "POST", "/jobs", json={"type": "add", "args": {"a": 1}})
    assert job.status_code == 202
    assert job.headers["location"] == f"/jobs/{job.json()['id']}"
    assert job.json()["owner"] == "contributor"
    assert house.ask("contributor", "POST", "/jobs", json={"type": "add", "args": {"a": 1}, "owner": "admin"}).status_code == 403
    assert house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": 1}, "owner": "x"}).json()["owner"] == "x"
    assert house.ask("contributor", "DELETE", f"/jobs/{job.json()['id']}").json()["status"] == "cancelled"


def test_a_submit_right_for_one_type(house: House) -> None:
    house.act(house.access.set_role("adder", "", [("jobs:submit:add", "own")], by="test"))
    house.act(house.access.add_user("adam", None, ["adder"], by="test"))
    house.tokens["adam"] = house.act(house.access.create_token("adam", "", by="test")).secret
    assert house.ask("adam", "POST", "/jobs", json={"type": "add", "args": {"a": 1}}).status_code == 202
    refused = house.ask("adam", "POST", "/jobs", json={"type": "tidy"})
    assert (refused.status_code, refused.json()["permission"]) == (403, "jobs:submit:tidy")


def test_workers_view_and_manage_are_granted_apart(house: House) -> None:
    house.ask("admin", "POST", "/jobs", json={"type": "add", "args": {"a": 1}})  # makes the lane's row
    for name, permission in (("viewer", "workers:view"), ("manager", "workers:manage")):
        house.act(house.access.set_role(name, "", [(permission, "all")], by="test"))
        house.act(house.access.add_user(name, None, [name], by="test"))
        house.tokens[name] = house.act(house.access.create_token(name, "", by="test")).secret
    change: dict[str, Any] = {"json": {"max_slots": 3}}
    path = "/admin/workers/lanes/interactive"
    assert house.ask("viewer", "GET", "/admin/workers/status").status_code == 200
    assert house.ask("viewer", "PATCH", path, **change).status_code == 403
    assert house.ask("manager", "GET", "/admin/workers/status").status_code == 403
    assert house.ask("manager", "PATCH", path, **change).json()["changed"] == {"max_slots": {"old": 1, "new": 3}}


def test_nobody_gives_what_he_does_not_have(house: House) -> None:
    assert house.ask("admin", "POST", "/admin/users", json={"name": "eve", "roles": ["platform_admin"]}).status_code == 403
    assert house.ask("admin", "PATCH", "/admin/users/admin", json={"roles": ["platform_admin"]}).status_code == 403
    assert house.ask("admin", "PATCH", "/admin/users/platform_admin", json={"disabled": True}).status_code == 403
    role = {"permissions": {"workers:manage": ["all"]}}
    assert house.ask("admin", "PUT", "/admin/roles/mine", json=role).status_code == 403
    assert house.ask("platform_admin", "PUT", "/admin/roles/mine", json=role).status_code == 200
    assert house.ask("admin", "PUT", "/admin/roles/mine", json={"permissions": {}}).status_code == 403
    assert house.ask("admin", "DELETE", "/admin/roles/mine").status_code == 403
    assert house.ask("admin", "POST", "/admin/users", json={"name": "bob", "roles": ["operator"]}).status_code == 201


NOBODY_LEFT = [
    ("PATCH", "/admin/users/last", {"roles": ["operator"]}),
    ("PATCH", "/admin/users/last", {"disabled": True}),
    ("PUT", "/admin/roles/boss", {"permissions": {"users:manage": ["all"]}}),
    ("DELETE", "/admin/roles/boss", None),
]


def test_somebody_stays_who_can_let_others_in(database: str) -> None:
    # Red without `keep_admin` in any of the three functions: the act is done, and nobody is left.
    with open_house(database) as house:
        house.enter("boss", *house.act(house.access.role("platform_admin")).pairs)
        house.act(house.access.add_user("last", None, ["boss"], by="test"))
        for name in ("admin", "platform_admin", "boss"):
            assert house.ask("boss", "PATCH", f"/admin/users/{name}", json={"roles": ["operator"]}).status_code == 200
        house.tokens["last"] = house.act(house.access.create_token("last", "", by="test")).secret
        for method, path, body in NOBODY_LEFT:
            answer = house.ask("last", method, path, **({} if body is None else {"json": body}))
            assert (answer.status_code, answer.json()["code"]) == (409, "KG-113"), path
            assert "make another administrator first" in answer.json()["detail"]
        # with another one it goes, and who has no such right is anybody's to change
        assert house.ask("last", "PATCH", "/admin/users/contributor", json={"disabled": True}).status_code == 200
        assert house.ask("last", "PATCH", "/admin/users/operator", json={"roles": ["admin"]}).status_code == 200
        assert house.ask("last", *NOBODY_LEFT[0][:2], json=NOBODY_LEFT[0][2]).status_code == 200


def test_two_administrators_who_demote_each_other_leave_one(database: str) -> None:
    # Red without the lock in `guard_admin`: each sees the other as he was, and both are gone.
    demote = "select kg.set_user(%s, null, '{operator}', null, 'test')"
    with open_house(database) as house, psycopg.connect(database) as one, psycopg.connect(database) as other:
        for name in ("ann", "bob"):
            house.act(house.access.add_user(name, None, ["admin"], by="test"))
        for name in ("admin", "platform_admin"):
            house.act(house.access.set_user(name, roles=["operator"], by="test"))
        one.execute(demote, ["ann"])
        with ThreadPoolExecutor(1) as pool, psycopg.connect(database, autocommit=True) as db:
            second = pool.submit(other.execute, demote, ["bob"])
            waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted and pid = %s"
            while not second.done() and db.execute(waits, [other.info.backend_pid]).fetchall() == [(0,)]:
                pass
            one.commit()
            with pytest.raises(psycopg.Error, match="nobody would be left"):
                second.result(timeout=bound(60))
        other.rollback()
        assert [user.roles for user in house.act(house.access.users()) if user.name in {"ann", "bob"}] == [["operator"], ["admin"]]


def test_tokens_are_shown_once_and_stored_hashed(house: House, database: str) -> None:
    made = house.ask("contributor", "POST", "/tokens", json={"name": "laptop", "only": ["jobs:read"]})
    assert made.status_code == 201
    secret = made.json()["secret"]
    with psycopg.connect(database) as db:
        dump = str(db.execute("select * from kg.credentials").fetchall()) + str(
            db.execute("select * from lanework.audit_log").fetchall()
        )
        dump += str(db.execute("select * from lanework.events").fetchall())
    assert secret not in dump
    assert secret not in house.ask("contributor", "GET", "/tokens").text
    house.tokens["laptop"] = secret
    assert house.ask("laptop", "GET", "/jobs").status_code == 200
    assert house.ask("laptop", "POST", "/jobs", json={"type": "add", "args": {"a": 1}}).status_code == 403
    wider = house.ask("laptop", "POST", "/tokens", json={"only": ["jobs:submit"]}).json()["secret"]
    house.tokens["wider"] = wider
    assert house.ask("wider", "POST", "/jobs", json={"type": "add", "args": {"a": 1}}).status_code == 403


def test_a_revoked_token_is_out_within_a_second(house: House) -> None:
    import time

    made = house.ask("contributor", "POST", "/tokens", json={}).json()
    house.tokens["gone"] = made["secret"]
    assert house.ask("gone", "GET", "/me").status_code == 200
    assert house.ask("operator", "DELETE", f"/tokens/{made['id']}").status_code == 404  # not his
    assert house.ask("contributor", "DELETE", f"/tokens/{made['id']}").status_code == 204
    revoked = time.monotonic()
    while house.ask("gone", "GET", "/me").status_code != 401:
        assert time.monotonic() - revoked < bound(2)
        time.sleep(0.02)


def test_login_cookie_and_cross_site(house: House) -> None:
    house.act(house.access.add_user("ann", "correct horse battery", ["contributor"], by="test"))
    assert house.ask(None, "POST", "/login", json={"name": "ann", "password": "wrong"}).status_code == 401
    assert house.ask(None, "POST", "/login", json={"name": "nobody", "password": "wrong"}).json()["code"] == "KG-101"
    entered = house.ask(None, "POST", "/login", json={"name": "ann", "password": "correct horse battery"})
    assert entered.status_code == 200
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert house.ask(None, "GET", "/me").json()["name"] == "ann"
    body = {"json": {"type": "add", "args": {"a": 1}}}
    assert house.ask(None, "POST", "/jobs", **body).status_code == 403  # no word of where it comes from
    for headers, status in (
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "http://testserver"}, 403),
        ({"Origin": "http://testserver"}, 202),
        ({"Sec-Fetch-Site": "same-origin"}, 202),
    ):
        assert house.ask(None, "POST", "/jobs", headers=headers, **body).status_code == status
    assert house.ask(None, "POST", "/logout", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 204
    assert house.ask(None, "GET", "/me").status_code == 401


def test_a_link_works_once(house: House) -> None:
    link = house.act(house.access.create_link("operator", by="test"))
    first = house.client.get(f"/login/{link}", follow_redirects=False)
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert house.ask(None, "GET", "/me").json()["name"] == "operator"
    assert house.client.get(first.headers["location"]).json()["name"] == "Lanework"
    house.client.cookies.clear()
    assert house.client.get(f"/login/{link}", follow_redirects=False).status_code == 401


def test_a_disabled_user_is_out(house: House) -> None:
    assert house.ask("contributor", "GET", "/me").status_code == 200
    house.act(house.access.set_user("contributor", disabled=True, by="test"))
    house.api.state.door._known.clear()
    assert house.ask("contributor", "GET", "/me").status_code == 401
