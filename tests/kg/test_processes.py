"""`kg up` and `kg serve` as real processes: started, killed, stopped. Nothing acknowledged is lost, nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.kg.processes import Kg, raw, run, started, until
from tests.pace import bound
from tests.servers import PrivateServer, data_folder

pytestmark = [pytest.mark.processes, pytest.mark.pg(18)]
SUBMIT = '{"type": "add", "args": {"a": 1}}'


@pytest.fixture
def folder() -> Iterator[Path]:
    with data_folder() as place:
        yield place / "kg"


def submit(kg: Kg, body: str = SUBMIT, **headers: str) -> int:
    answer = kg.ask("POST", "/jobs", body, **headers)
    assert answer.status == 202, answer.body
    return int(answer.json()["id"])


def completed(kg: Kg, job: int) -> bool:
    return bool(kg.ask("GET", f"/jobs/{job}").json()["status"] == "completed")


def gone(kg: Kg) -> None:
    """None of its processes is left, PostgreSQL included."""
    try:
        until(lambda: kg.family() == [], "all have ended", 40)
    except AssertionError:
        raise AssertionError(f"left: {kg.commands()}\n{kg.log}") from None


def test_everything_in_one_command(folder: Path) -> None:
    with started(folder, "up", KG_PROCESSES="2") as kg:
        assert stat.S_IMODE((folder / "kg.json").stat().st_mode) == 0o600
        # the calls of an operator's manual, as `curl -d` sends them: called a form, or nothing at all
        assert kg.ask("PATCH", "/admin/workers/lanes/interactive", '{"max_slots": 3}').json()["changed"] == {
            "max_slots": {"old": 2, "new": 3}
        }
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        assert kg.ask("PATCH", "/admin/workers/lanes/maintenance", '{"enabled": false}', **form).status == 200
        job = submit(kg, **form)
        until(lambda: completed(kg, job), "the job has completed")
        assert kg.ask("GET", f"/jobs/{job}").json()["result"] == 3
        # the link lets in once
        entered = raw(kg.port, "GET", f"/login/{kg.link}")
        assert entered.status == 303
        assert raw(kg.port, "GET", "/me", Cookie=entered.headers["set-cookie"].partition(";")[0]).json()["name"] == "admin"
        assert raw(kg.port, "GET", f"/login/{kg.link}").status == 401
        # the command line finds the server by itself
        seen = run(folder, "admin", "workers")
        assert (seen.returncode, "interactive" in seen.stdout, "no job is running" in seen.stdout) == (0, True, True), seen.stderr
        lanes = json.loads(run(folder, "admin", "workers", "lanes", "-o", "json").stdout)
        assert {one["name"]: one["max_slots"] for one in lanes}["interactive"] == 3
        # a port that is taken
        taken = run(folder.parent / "other", "up", "--port", str(kg.port))
        assert (taken.returncode, taken.stdout) == (2, "")
        assert re.fullmatch(r"LW-100: cannot listen on 127\.0\.0\.1:\d+: address already in use; .*--port\n", taken.stderr)
        assert kg.stop() == 0, kg.log
        assert kg.family() == []
        assert not (folder / "kg.json").exists()
        assert "Traceback" not in kg.log
    with started(folder, "up") as again:
        # the next start has a token of its own; the one before is revoked
        tokens = [one for one in again.ask("GET", "/tokens").json() if one["name"] == "command line"]
        assert [one["revoked_at"] is None for one in tokens] == [True, False]
        assert completed(again, job)
        assert again.stop(signal.SIGINT) == 0
        assert again.family() == []


def test_who_dies_is_started_again_and_nobody_outlives_the_parent(folder: Path) -> None:
    with started(folder, "up", KG_PROCESSES="2") as kg:
        serving, working = kg.like("kg.serving"), kg.like("-m kg.working")
        assert (len(serving), len(working)) == (2, 1)
        os.kill(serving[0], signal.SIGKILL)
        os.kill(working[0], signal.SIGKILL)
        until(lambda: len(kg.like("kg.serving")) == 2 and serving[0] not in kg.like("kg.serving"), "an HTTP process again")
        until(lambda: len(kg.like("-m kg.working")) == 1 and working[0] not in kg.like("-m kg.working"), "a worker again")
        assert "HTTP process 1 ended (signal 9 (SIGKILL)) and is started again" in kg.log
        job = submit(kg)
        until(lambda: completed(kg, job), "the job has completed")
        os.kill(kg.process.pid, signal.SIGKILL)
        kg.process.wait()
        gone(kg)


def test_what_was_acknowledged_is_there_after_all_were_killed(folder: Path) -> None:
    """The workers of this one work nothing: what is there, is there because it was stored."""
    with started(folder, "up", LANEWORK_WORKER="off") as kg:
        jobs = [submit(kg) for _ in range(10)]
        for pid in [kg.process.pid, *kg.family()]:
            os.kill(pid, signal.SIGKILL)
    with started(folder, "up") as again:
        until(lambda: all(completed(again, job) for job in jobs), "what was acknowledged has completed")


def test_serve_outlives_its_database(folder: Path) -> None:
    # a durable one: what was acknowledged must be there after a crash
    with PrivateServer.temporary(tcp=True, durable=True) as server, started(folder, "serve", KG_DSN=server.dsn) as kg:
        made = run(folder, "tokens", "create", "ada", KG_DSN=server.dsn)
        assert made.returncode == 5
        assert made.stderr.endswith("KG-111: there is no user 'ada'\n")
        assert run(folder, "users", "add", "ada", "--roles", "contributor", KG_DSN=server.dsn).returncode == 0
        token = run(folder, "tokens", "create", "ada", KG_DSN=server.dsn).stdout.strip()
        who = {"Authorization": f"Bearer {token}"}
        processes = kg.like("kg.serving")
        assert raw(kg.port, "POST", "/jobs", SUBMIT, **who).status == 202
        server.stop("immediate")
        away = raw(kg.port, "POST", "/jobs", SUBMIT, **who)
        assert (away.status, away.headers["retry-after"]) == (503, "5")
        assert raw(kg.port, "GET", "/health/ready").status == 503
        assert raw(kg.port, "GET", "/health/live").status == 200
        server.start()
        until(lambda: raw(kg.port, "POST", "/jobs", SUBMIT, **who).status == 202, "submits are taken again", 20)
        assert kg.like("kg.serving") == processes
        with psycopg.connect(server.dsn) as db:
            assert db.execute("select count(*) from lanework.jobs").fetchone() == (2,)
        assert kg.stop() == 0
        assert kg.family() == []


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        ({"KG_IMPORTS": "no_such_module"}, 2, "KG_IMPORTS: cannot import 'no_such_module'"),
        ({"KG_DSN": "postgresql://nobody:hunter2@127.0.0.1:1/none"}, 3, "LW-2"),
        ({"KG_PORT": "x"}, 2, "KG_PORT: expected a int, got 'x'"),
    ],
)
def test_what_cannot_start_says_so_and_ends(folder: Path, database: str, more: dict[str, str], code: int, says: str) -> None:
    done = run(folder, "up", **{"KG_PORT": "0", "KG_DSN": database, **more})
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


def test_a_second_signal_hurries(folder: Path, database: str) -> None:
    """A request that does not end holds a stop up for its grace; asked twice, it is over at once."""
    with started(folder, "serve", KG_DSN=database) as kg, socket.create_connection(("127.0.0.1", kg.port)) as conn:
        conn.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        time.sleep(0.2)
        begun = time.monotonic()
        kg.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert kg.stop() == 0
        assert time.monotonic() - begun < bound(8)
