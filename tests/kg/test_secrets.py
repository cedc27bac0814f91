"""Promise 25: what is secret is in no log, event, error, audit row or answer. Canaries go through real processes; then their logs,
all answers and a dump of the database are searched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.kg.processes import Kg, raw, run, started, until
from tests.servers import PrivateServer, data_folder

pytestmark = [pytest.mark.processes, pytest.mark.pg(18)]

DSN_PASSWORD = "canary-of-the-database-5c1d"
WEBHOOK = "canary-of-the-webhook-77aa"
PASSWORD = "canary-of-ada-and-her-horse-19f0"
WRONG = "canary-that-was-mistyped-02be"


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as place:
        yield place / "kg"


def dump(dsn: str) -> dict[str, str]:
    """Every row of every table of ours as text."""
    with psycopg.connect(dsn) as db:
        tables = db.execute(
            "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('lanework', 'kg')"
        ).fetchall()
        return {name: "\n".join(row[0] for row in db.execute(f"select t::text from {name} t").fetchall()) for (name,) in tables}


def test_no_secret_is_told(folder: Path) -> None:
    with PrivateServer.temporary(tcp=True) as server:
        with psycopg.connect(server.dsn, autocommit=True) as db:
            db.execute(f"create role canary superuser login password '{DSN_PASSWORD}'")
        port = psycopg.conninfo.conninfo_to_dict(server.dsn)["port"]
        dsn = f"postgresql://canary:{DSN_PASSWORD}@127.0.0.1:{port}/lanework"
        with started(folder, "up", KG_DSN=dsn, HOUSE_WEBHOOK=WEBHOOK, LANEWORK_SWEEP="0.5") as kg:
            secrets, answers = _live(kg, folder, dsn, server)
            assert kg.stop() == 0, kg.log
            log = kg.log
        stored = dump(server.dsn)
        assert "did not work" in stored["lanework.jobs_failed"]  # the search sees what is there
    secrets += [DSN_PASSWORD, WEBHOOK, PASSWORD, WRONG]
    # the link was told to whoever has started it, in the line for it, and it works once
    log = "\n".join(line for line in log.splitlines() if not line.startswith("log in as admin, once"))
    # what signs a message has to be kept where messages are sent from, and nowhere else
    signing = stored.pop("lanework.notifiers")
    assert WEBHOOK in signing
    places = {"log": log, "answers": "\n".join(answers), "notifiers": signing.replace(WEBHOOK, ""), **stored}
    found = [(place, secret) for place, text in places.items() for secret in secrets if secret in text or secret[12:] in text]
    assert found == []
    # a job's attempts show its own traceback; nothing else shows one
    assert [one for one in answers if "Traceback" in one and '"traceback"' not in one] == []


def _live(kg: Kg, folder: Path, dsn: str, server: PrivateServer) -> tuple[list[str], list[str]]:
    """All that can be done with secrets, right and wrong. Answers the secrets and what was answered."""
    secrets, answers = [kg.link], []

    def ask(method: str, path: str, body: object = None, **headers: str) -> object:
        told = raw(kg.port, method, path, None if body is None else json.dumps(body), **headers)
        answers.append(told.body.decode())
        return told

    added = run(folder, "users", "add", "ada", "--roles", "platform_admin", "--password", stdin=f"{PASSWORD}\n", KG_DSN=dsn)
    assert added.returncode == 0, added.stderr
    answers.append(added.stdout + added.stderr)
    entered = raw(kg.port, "GET", f"/login/{kg.link}")
    session = entered.headers["set-cookie"].partition(";")[0]
    entered = raw(kg.port, "POST", "/login", json.dumps({"name": "ada", "password": PASSWORD}))
    assert entered.status == 200, entered.body
    answers.append(entered.body.decode())
    cookie = entered.headers["set-cookie"].partition(";")[0]
    made = raw(kg.port, "POST", "/tokens", "{}", Cookie=cookie, Sec_Fetch_Site="same-origin", Idempotency_Key="once")
    assert made.status == 201, made.body
    token = str(made.json()["secret"])
    secrets += [session.partition("=")[2], cookie.partition("=")[2], token]
    who = {"Authorization": f"Bearer {token}"}
    # the same key gets the answer again, without what is shown once
    ask("POST", "/tokens", {}, Cookie=cookie, Sec_Fetch_Site="same-origin", Idempotency_Key="once")
    ask("POST", "/login", {"name": "ada", "password": WRONG})
    ask("POST", "/login", {"name": WRONG, "password": WRONG})
    ask("POST", "/login", {"name": "ada", "password": {"it": WRONG}})
    ask("POST", "/login", {"name": "ada", "password": WRONG, "more": WRONG})
    ask("GET", f"/login/{kg.link}")
    ask("POST", "/admin/users", {"name": "eve", "password": WRONG, "roles": ["nothing"]}, **who)
    ask("POST", "/admin/users", {"name": "bob", "password": WRONG, "roles": ["read_only"]}, **who)
    ask("PATCH", "/admin/users/bob", {"password": PASSWORD + "2"}, **who)
    for wrong in (f"Basic {token}", f"Bearer {token}x", token):
        ask("GET", "/me", Authorization=wrong)
    for path in (
        "/me",
        "/tokens",
        "/admin/tokens",
        "/admin/users",
        "/admin/roles",
        "/jobs",
        "/events?x",
        "/admin/workers",
        "/nowhere",
    ):
        if not path.startswith("/events"):
            ask("GET", path, **who)
    job = raw(kg.port, "POST", "/jobs", '{"type": "fail"}', **who).json()["id"]
    until(lambda: raw(kg.port, "GET", f"/jobs/{job}", **who).json()["status"] == "failed" or _hurry(server, job), "it fails")
    for path in ("", "/attempts", "/logs", "/events"):
        ask("GET", f"/jobs/{job}{path}", **who)
    for words in (("tokens", "list"), ("users", "list"), ("audit", "list"), ("roles",), ("tokens", "create", "nobody")):
        done = run(folder, *words, KG_DSN=dsn)
        answers.append(done.stdout + done.stderr)
    # a database that is away is told of by everybody
    server.stop("immediate")
    ask("POST", "/jobs", {"type": "add", "args": {"a": 1}}, **who)
    ask("GET", "/health/ready")
    done = run(folder, "users", "list", KG_DSN=dsn)
    answers.append(done.stdout + done.stderr)
    server.start()
    until(lambda: raw(kg.port, "GET", "/me", **who).status == 200, "it goes on", 30)
    return secrets, answers


def _hurry(server: PrivateServer, job: int) -> bool:
    """The tries that are left come at once."""
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("update lanework.jobs set max_tries = 1 where id = %s and status = 'approved'", [job])
        db.execute("update lanework.jobs set run_at = now() where id = %s and status = 'scheduled'", [job])
    return False
