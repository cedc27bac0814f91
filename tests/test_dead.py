"""`app.dead`, `app.retry` and notifiers, as an application uses them."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest

from lanework import ConfigError, Context, Fail, Job, Lanework, Notification
from lanework._webhook import WebhookRefused, post
from lanework.errors import DeadLettersBusy, DeadLettersNotFound, InvalidDeadLetters, JobNotFound, NotFailed
from lanework.notifiers import sign, verify
from lanework.testing import Clock, drain

SECRET = "a secret of the receiver"


Mend = Callable[[], None]


@pytest.fixture
def flaky(app: Lanework) -> tuple[Job[[int], int], Mend]:
    """A job that fails until it is mended."""
    broken = True

    @app.job(max_tries=1)
    def flaky(ctx: Context, n: int) -> int:
        if broken:
            raise ValueError(f"no key {n!r}")
        return n

    def mend() -> None:
        nonlocal broken
        broken = False

    return flaky, mend


def tend(app: Lanework, database: str) -> None:
    """The share of a worker's sweep, now."""
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("select lanework.carry_redrives(), lanework.gather_notifications()")


# -- groups and the way back -----------------------------------------------------------------------------------------------


def test_groups_and_a_retry(app: Lanework, flaky: tuple[Job[[int], int], Mend]) -> None:
    job, mend = flaky
    handles = [job.submit(n) for n in range(3)]
    drain(app)
    (group,) = app.dead.groups()
    assert (group.type, group.error_class, group.message, group.count) == ("flaky", "unknown", "ValueError: no key <n>", 3)
    assert app.dead.get(group.fingerprint) == group == app.dead.groups(type="flaky", error_class="unknown")[0]
    assert app.dead.groups(type="other") == []
    assert [one.id for one in app.dead.list(group)] == [one.id for one in app.dead.list()] == [one.id for one in handles]
    assert [one.id for one in app.dead.list(group.fingerprint, after=handles[0].id, limit=1)] == [handles[1].id]
    mend()
    assert app.retry(handles[0].id, by="ada") == "approved"
    drain(app)
    assert handles[0].result() == 0
    assert (app.get(handles[0].id).attempt, app.dead.get(group.fingerprint).count) == (2, 2)
    with pytest.raises(NotFailed, match="completed"):
        app.retry(handles[0].id)
    with pytest.raises(JobNotFound):
        app.retry(10**9)
    assert app.dead.archive(ids=handles[1].id, by="ada") == 1
    assert app.dead.count(type="flaky") == 1
    assert app.get(handles[1].id).status == "failed"


def test_a_redrive(app: Lanework, database: str, flaky: tuple[Job[[int], int], Mend]) -> None:
    job, mend = flaky
    handles = job.submit_many([(n,) for n in range(5)])
    drain(app)
    (group,) = app.dead.groups()
    redrive = app.dead.redrive(group, by="ada")
    assert (redrive.state, redrive.matched, redrive.moved, redrive.by) == ("canary", 5, 1, "ada")
    with pytest.raises(DeadLettersBusy, match=f"redrive {redrive.id}"):
        app.dead.redrive(group)
    drain(app)
    tend(app, database)
    failed = app.dead.get_redrive(redrive.id)
    assert (failed.state, failed.moved, failed.failed, failed.ended) == ("failed", 1, 1, True)
    assert "no key" in failed.note
    mend()
    redrive = app.dead.redrive(group.fingerprint, per_minute=100_000)
    drain(app)
    for _ in range(2):
        tend(app, database)
    drain(app)
    done = app.dead.get_redrive(redrive.id)
    assert (done.state, done.moved, done.completed, done.failed, done.waiting) == ("done", 5, 5, 0, 0)
    assert [handle.result() for handle in handles] == [0, 1, 2, 3, 4]
    assert app.dead.groups() == []
    assert [one.id for one in app.dead.redrives()] == [done.id, failed.id]
    assert app.dead.redrives(active=True) == []


def test_a_redrive_is_stopped(app: Lanework, database: str, flaky: tuple[Job[[int], int], Mend]) -> None:
    job, _ = flaky
    job.submit_many([(n,) for n in range(5)])
    drain(app)
    redrive = app.dead.redrive(canary=False, per_minute=1, type="flaky")
    assert redrive.moved == 1
    stopped = app.dead.stop(redrive, by="bob", reason="no")
    assert (stopped.state, stopped.note) == ("stopped", "stopped by bob: no")
    Clock(app).advance(hours=1)
    tend(app, database)
    assert app.dead.get_redrive(redrive.id).moved == 1


def test_async_twins(app: Lanework, flaky: tuple[Job[[int], int], Mend]) -> None:
    job, _ = flaky
    ids = [handle.id for handle in job.submit_many([(1,), (2,), (3,)])]
    drain(app)

    async def all_of_them() -> None:
        (group,) = await app.dead.agroups()
        assert await app.dead.aget(group.fingerprint) == group
        assert len(await app.dead.alist(group)) == await app.dead.acount(group) == 3
        number = await app.dead.arule(group, "transient", by="ada")
        assert [one.id for one in await app.dead.arules()] == [number]
        await app.dead.aremove_rule(number, by="ada")
        assert await app.aretry(ids[0]) == "approved"
        redrive = await app.dead.aredrive(group)
        assert (await app.dead.aredrives())[0].id == (await app.dead.astop(redrive)).id == redrive.id
        assert await app.dead.aarchive(group, reason="known") == 1
        await app.dead.webhooks.aset("hook", "http://127.0.0.1:1/", secret=SECRET)
        assert [one.name for one in await app.dead.webhooks.alist()] == ["hook"]
        await app.dead.webhooks.aremove("hook")
        assert await app.dead.anotifications() == []
        await app._close_loop()

    asyncio.run(all_of_them())


def test_what_is_refused(app: Lanework) -> None:
    app.lanes.list()
    calls: list[tuple[type[Exception], Callable[[], object]]] = [
        (InvalidDeadLetters, app.dead.redrive),
        (InvalidDeadLetters, lambda: app.dead.redrive(colour="red")),
        (InvalidDeadLetters, lambda: app.dead.redrive(created_after=datetime(2030, 1, 1))),
        (InvalidDeadLetters, app.dead.archive),
        (InvalidDeadLetters, lambda: app.dead.list(limit=0)),
        (InvalidDeadLetters, lambda: app.dead.rule(None, "budget", pattern="x")),  # type: ignore[arg-type]
        (InvalidDeadLetters, lambda: app.dead.rule("g", "permanent", pattern="x")),
        (InvalidDeadLetters, lambda: app.dead.webhooks.set("hook", "ftp://x")),
        (InvalidDeadLetters, lambda: app.dead.webhooks.set("Hook", "http://x")),
        (InvalidDeadLetters, lambda: app.dead.webhooks.set("hook", "http://x", secret="short")),
        (DeadLettersNotFound, lambda: app.dead.get("nope")),
        (DeadLettersNotFound, lambda: app.dead.redrive("nope")),
        (DeadLettersNotFound, lambda: app.dead.get_redrive(7)),
        (DeadLettersNotFound, lambda: app.dead.stop(7)),
        (DeadLettersNotFound, lambda: app.dead.remove_rule(7)),
        (DeadLettersNotFound, lambda: app.dead.webhooks.remove("nope")),
        (DeadLettersNotFound, lambda: app.dead.webhooks.set("nope", enabled=False)),
        (InvalidDeadLetters, lambda: app.webhook("javascript:1")),
        (ConfigError, lambda: app.notifier(name="slow", every=-1)(print)),
    ]
    for n, (error, call) in enumerate(calls):
        with pytest.raises(error):
            call()
            pytest.fail(f"call {n} was not refused")


def test_a_rule_changes_what_an_error_means(app: Lanework) -> None:
    runs: list[int] = []

    @app.job(max_tries=2, backoff_base=0.01)
    def sick(ctx: Context, how: str) -> None:
        runs.append(ctx.job_id)
        if how == "fail":
            return Fail("model 7 is gone")  # type: ignore[return-value]
        raise ValueError("model 8 is gone")

    raised = sick.submit("raise")
    clock = Clock(app)
    for _ in range(2):
        drain(app)
        clock.advance(hours=2)
    assert len(runs) == 2
    (group,) = app.dead.groups()
    number = app.dead.rule(group, "permanent", by="ada")
    assert [(one.type, one.pattern, one.error_class) for one in app.dead.rules()] == [("sick", group.message, "permanent")]
    assert app.dead.get(group.fingerprint).rule == "permanent"
    app.retry(raised.id)
    drain(app)
    assert (app.get(raised.id).error_class, len(runs)) == ("permanent", 3)
    assert app.attempts(raised.id)[-1].cause == f"rule {number}"
    app.dead.remove_rule(number)
    failed = sick.submit("fail")
    app.dead.rule(None, "transient", type="sick", pattern="model <n> is gone")
    for _ in range(2):
        drain(app)
        clock.advance(hours=2)
    assert (app.get(failed.id).status, app.get(failed.id).tries_used, len(runs)) == ("failed", 2, 5)


# -- notifiers -------------------------------------------------------------------------------------------------------------


def test_a_function_is_told_once(app: Lanework, database: str, flaky: tuple[Job[[int], int], Mend]) -> None:
    told: list[Notification] = []
    later: list[Notification] = []
    app.notifier(told.append)

    @app.notifier(name="later", every=0)
    async def elsewhere(notification: Notification) -> None:
        later.append(notification)
        if len(later) == 1:
            raise RuntimeError("not now")

    job, _ = flaky
    handles = job.submit_many([(n,) for n in range(4)])
    drain(app)
    for _ in range(2):
        tend(app, database)
        drain(app)
        Clock(app).advance(seconds=40)
    (message,) = told
    assert (message.notifier, message.count, message.tries) == ("append", 4, 1)
    (group,) = message.groups
    assert (group.type, group.count, group.job_ids) == ("flaky", 4, tuple(handle.id for handle in handles))
    assert group.last_seen.tzinfo is not None
    assert [one.id for one in later] == [later[0].id] * 2  # the same message, tried again
    assert {one.state for one in app.dead.notifications()} == {"sent"}


class Receiver(ThreadingHTTPServer):
    """Answers as it is told, and remembers what it was sent."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.got: list[tuple[dict[str, str], bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            server: Receiver

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.server.got.append((dict(self.headers.items()), body))
                self.send_response(self.server.answers.pop(0) if self.server.answers else 204)
                self.send_header("location", "/elsewhere")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?x=1"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_signed_webhook_is_retried_under_its_id(
    app: Lanework, database: str, flaky: tuple[Job[[int], int], Mend], receiver: Receiver
) -> None:
    receiver.answers = [500]
    app.lanes.list()  # registered before: what is declared later is, too
    app.webhook(receiver.url, secret=SECRET)
    flaky[0].submit_many([(n,) for n in range(3)])
    drain(app)
    clock = Clock(app)
    for _ in range(2):
        tend(app, database)
        drain(app)
        clock.advance(seconds=30)
    assert len(receiver.got) == 2
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == len({body for _, body in receiver.got}) == 1
    for headers, body in receiver.got:
        at = float(headers["webhook-timestamp"])
        assert verify(SECRET, headers, body, now=at)
        assert not verify("another secret, not theirs", headers, body, now=at)
        assert not verify(SECRET, headers, body + b" ", now=at)
        assert not verify(SECRET, headers, body, now=at + 1000)
    message = json.loads(receiver.got[0][1])
    assert (message["type"], message["count"], message["groups"][0]["count"]) == ("dead_letters", 3, 3)
    (row,) = app.dead.notifications()
    assert (row.state, row.tries, row.notifier, row.id) == ("sent", 2, "webhook", message["id"])
    (hook,) = app.dead.webhooks.list()
    assert (hook.signed, hook.url, hook.waiting) == (True, receiver.url, 0)


def test_an_operators_webhook_needs_no_restart(
    app: Lanework, database: str, flaky: tuple[Job[[int], int], Mend], receiver: Receiver
) -> None:
    drain(app)  # a worker was there before
    app.dead.webhooks.set("ops", receiver.url, by="ada")
    flaky[0].submit(1)
    drain(app)
    tend(app, database)
    drain(app)
    assert len(receiver.got) == 1
    assert "webhook-signature" not in receiver.got[0][0]


def test_a_receiver_that_never_answers_is_given_up(app: Lanework, database: str, flaky: tuple[Job[[int], int], Mend]) -> None:
    app.webhook("http://127.0.0.1:1/nobody")
    flaky[0].submit(1)
    drain(app)
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("update lanework.notifiers set max_tries = 2")
    clock = Clock(app)
    for _ in range(2):
        tend(app, database)
        drain(app)
        clock.advance(hours=2)
    (row,) = app.dead.notifications(state="failed")
    assert (row.tries, row.count) == (2, 1)
    assert "ConnectionRefused" in (row.last_error or "")
    assert app.dead.groups(type="lanework:notify") == []


def test_signatures_are_those_of_standard_webhooks() -> None:
    """The example of the specification."""
    body = b'{"test": 2432232314}'
    found = sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert not verify("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", {}, body)


def test_a_webhook_goes_nowhere_else(receiver: Receiver) -> None:
    receiver.answers = [302]
    with pytest.raises(WebhookRefused, match="302"):
        post(receiver.url, {}, secret=None, id="x", timestamp=int(datetime.now(UTC).timestamp()))
    assert len(receiver.got) == 1
    for url in ("file:///etc/passwd", "http://u:p@127.0.0.1/", "gopher://x"):
        with pytest.raises(InvalidDeadLetters):
            post(url, {}, secret=None, id="x", timestamp=0)
