"""`kg` commands: data on stdout, talk on stderr, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kg.cli import main
from kg.cli.note import read_note, write_note
from lanework import Lanework


@pytest.fixture
def cli(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    monkeypatch.setenv("LANEWORK_DSN", database)
    monkeypatch.setenv("LANEWORK_DATA", str(tmp_path))
    for name in ("KG_DSN", "KG_HOST", "KG_PORT", "KG_PROCESSES", "KG_URL", "KG_TOKEN"):
        monkeypatch.setenv(name, "")

    def run(*words: str) -> tuple[int, str, str]:
        code = main(words)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_users_tokens_and_roles(cli: Callable[..., Any]) -> None:
    assert cli("users", "list") == (0, "", "there are no users; `kg users add NAME` adds one\n")
    code, out, _ = cli("users", "add", "ada", "--roles", "contributor,approver", "-o", "json")
    assert (code, json.loads(out)[0]["roles"]) == (0, ["approver", "contributor"])
    assert cli("users", "add", "ada")[0] == 2
    code, _, err = cli("users", "add", "bob", "--roles", "nothing")
    assert (code, err) == (2, "KG-110: roles: one of nothing is no role; `kg roles` shows them\n")
    assert cli("users", "set", "ada", "--roles", "operator", "-o", "ids") == (0, "ada\n", "")
    code, out, err = cli("tokens", "create", "ada", "--name", "laptop", "--only", "jobs:read")
    assert (code, out.startswith("lwk_"), "only time" in err) == (0, True, True)
    assert cli("tokens", "create", "ada", "--only", "jobs:raed")[0] == 2
    listed = json.loads(cli("tokens", "list", "-o", "json")[1])
    assert [(one["user"], one["name"], one["only"]) for one in listed] == [("ada", "laptop", ["jobs:read"])]
    assert out.strip() not in str(listed)
    assert cli("tokens", "revoke", str(listed[0]["id"]))[0] == 0
    assert cli("tokens", "revoke", str(listed[0]["id"]))[0] == 5
    assert cli("users", "link", "ada")[1].startswith("http://127.0.0.1:8000/login/lwl_")
    assert cli("users", "link", "nobody")[0] == 5
    assert "platform_admin" in cli("roles", "-o", "ids")[1].split()


def test_a_token_that_has_expired_is_not_called_valid(cli: Callable[..., Any], database: str) -> None:
    assert cli("users", "add", "ada")[0] == cli("tokens", "create", "ada", "--days", "1")[0] == 0
    assert cli("tokens", "list")[1].splitlines()[1].endswith("valid")
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("update kg.credentials set expires_at = now()")
    assert cli("tokens", "list")[1].splitlines()[1].endswith("expired")


def test_roles_are_made_shown_and_removed(cli: Callable[..., Any]) -> None:
    grants = ("graph:read", "documents:write=own", "documents:read=ontology:a, b", "jobs:submit:add=own")
    code, out, err = cli("roles", "set", "curator", "--allow", *grants, "--description", "keeps a shelf", "-o", "json")
    assert (code, err) == (0, "")
    permissions = json.loads(out)[0]["permissions"]
    assert permissions == {
        "graph:read": ["all"], "documents:write": ["own"], "documents:read": ["ontology:a, b"], "jobs:submit:add": ["own"],
    }  # fmt: skip
    assert cli("users", "add", "ada", "--roles", "curator")[0] == 0
    _, out, _ = cli("roles", "show", "curator")
    assert out.startswith("curator: keeps a shelf\nusers: ada\n") and "submit jobs of the type add" in out
    assert max(map(len, out.splitlines())) <= 80
    # described anew it allows what it allowed
    assert json.loads(cli("roles", "set", "curator", "--description", "new", "-o", "json")[1])[0]["permissions"] == permissions
    assert json.loads(cli("roles", "set", "curator", "--nothing", "-o", "json")[1])[0]["permissions"] == {}
    for words, code in (
        (("set", "curator", "--allow", "graph:raed"), 2), (("set", "curator", "--allow", "graph:read=mine"), 2),
        (("set", "Not A Name", "--nothing"), 2), (("set", "curator", "--allow", "graph:read", "--nothing"), 2),
        (("set", "nobodys"), 5), (("show", "nobodys"), 5), (("remove", "nobodys"), 5), (("remove", "admin"), 5),
    ):  # fmt: skip
        assert cli("roles", *words)[0] == code, words
    assert cli("roles", "remove", "curator")[0] == 0
    assert json.loads(cli("users", "list", "-o", "json")[1])[0]["roles"] == []


def test_the_last_administrator_stays(cli: Callable[..., Any]) -> None:
    assert cli("users", "add", "ada", "--roles", "admin")[0] == 0
    for words in (("--roles", "operator"), ("--disable",)):
        code, _, err = cli("users", "set", "ada", *words)
        assert (code, err.split(":")[0]) == (1, "KG-113")
    assert cli("users", "add", "bob", "--roles", "admin")[0] == cli("users", "set", "ada", "--disable")[0] == 0


def test_the_audit_log_is_verified(cli: Callable[..., Any], database: str) -> None:
    for name in ("ada", "bob"):
        assert cli("users", "add", name)[0] == 0
    assert [one["act"] for one in json.loads(cli("audit", "list", "-o", "json")[1])] == ["user.add", "user.add"]
    with psycopg.connect(database, autocommit=True) as db:
        for _ in range(1000):
            db.execute("select lanework.seal_audit()")
            if db.execute("select count(*) from lanework.audit_seals").fetchone() == (2,):
                break
        code, out, err = cli("audit", "verify", "-o", "json")
        found = json.loads(out)[0]
        assert (code, err, found["sealed"], found["unsealed"], found["bad"], len(found["head"])) == (0, "", 2, 0, None, 64)
        db.execute("set session_replication_role = replica")
        db.execute("update lanework.audit_log set actor = 'nobody' where id = (select max(id) from lanework.audit_log)")
        bad = db.execute("select max(id) from lanework.audit_log").fetchone()
    assert bad is not None
    code, out, err = cli("audit", "verify")
    assert (code, str(bad[0]) in out) == (1, True)
    assert err == f"row {bad[0]} of the audit log is not what was sealed: it was changed, taken out, or put in afterwards\n"
    with Lanework(database) as work:
        assert not work.verify_audit().ok


def test_the_note_is_for_its_owner_alone(cli: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "kg.json").write_text("{}")
    (tmp_path / "kg.json").chmod(0o644)
    write_note("http://127.0.0.1:1", "secret")
    assert (tmp_path / "kg.json").stat().st_mode & 0o777 == 0o600
    assert read_note() == {"url": "http://127.0.0.1:1", "token": "secret"}
    code, out, err = cli("admin", "workers")
    assert (code, out) == (3, "")
    assert err.startswith("KG-120: no server answers at http://127.0.0.1:1 ")
    assert "secret" not in err


def test_a_noted_token_goes_to_its_own_server_alone(cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    write_note("http://127.0.0.1:1", "secret")
    monkeypatch.setenv("KG_URL", "http://127.0.0.1:2")
    code, _, err = cli("admin", "workers")
    assert code == 2
    assert "there is no token for http://127.0.0.1:2" in err


def test_lanes_are_stored_though_no_job_is_declared(database: str) -> None:
    with Lanework(database) as work:
        work.lane("books", max_slots=7)
        assert {one.name: one.max_slots for one in work.lanes.list()}["books"] == 7
