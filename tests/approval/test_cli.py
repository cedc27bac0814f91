"""Approval on the command line."""

from __future__ import annotations

import json

import psycopg
import pytest

from lanework import testing
from lanework.errors import InvalidJob
from tests.approval.shop import Shop
from tests.cli.commands import Cli


def cli(capsys: pytest.CaptureFixture[str], dsn: str, *words: object) -> tuple[int, str, str]:
    run = Cli(dsn, capsys)
    return run(*words), run.out, run.err


def test_the_command_line(shop: Shop, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = shop.digest.options(owner="ada").submit_many([(f"u{n}", 10) for n in range(4)])
    one, two, three, four = (job.id for job in jobs)
    _, out, _ = cli(capsys, database, "jobs", "list", "--status", "pending")
    assert out.count("its cost is being estimated") == 4
    testing.drain(shop.app)
    _, out, _ = cli(capsys, database, "jobs", "list", "--status", "awaiting_approval")
    assert out.count("1.00–10.00 USD; up to 10 USD is over 5.0 USD") == 4
    _, out, _ = cli(capsys, database, "jobs", "show", one)
    for words in ("1.00 to 10.00 USD, 1,000 tokens, 3 s", "long", jobs[0].info().hash, "an approval, until"):
        assert words in out

    code, out, err = cli(capsys, database, "jobs", "approve", one, "--dry-run")
    assert code == 0 and jobs[0].info().hash in out and "1 job would be approved, up to 10.00 USD; nothing was done" in err
    code, _, err = cli(capsys, database, "jobs", "approve", one, "--hash", "0" * 32)
    assert code == 1 and "LW-520" in err
    code, _, err = cli(capsys, database, "jobs", "approve", one, "--limit", "0.5")
    assert code == 2 and "LW-523" in err
    code, _, err = cli(capsys, database, "jobs", "approve", one, two, "--hash", "0" * 32)
    assert code == 2 and "one job" in err
    code, out, _ = cli(capsys, database, "jobs", "approve", one, "--hash", jobs[0].info().hash, "--limit", "9.5", "-o", "json")
    assert (code, json.loads(out)) == (0, [{"id": one, "answer": "approved"}])
    code, out, err = cli(capsys, database, "jobs", "approve", one, two)
    assert code == 1 and "LW-521" in out and "1 of 2 done" in err

    code, _, err = cli(capsys, database, "jobs", "approve")
    assert code == 2 and "say which jobs" in err
    code, _, err = cli(capsys, database, "jobs", "approve", "--owner", "ada")
    assert code == 2 and "2 jobs would be approved; without a terminal" in err
    code, out, err = cli(capsys, database, "jobs", "approve", "--owner", "ada", "--dry-run", "-o", "ids")
    assert out.split() == [str(four), str(three)] and "2 jobs would be approved, up to 20.00 USD" in err
    code, _, _ = cli(capsys, database, "jobs", "reject", three, "--reason", "")
    assert code == 2
    code, _, err = cli(capsys, database, "jobs", "reject", "--type", "digest", "--reason", "closed", "--yes")
    assert code == 0 and "2 jobs rejected" in err
    assert shop.app.get(three).error == "closed"
    testing.drain(shop.app)
    _, out, _ = cli(capsys, database, "jobs", "show", one)
    assert "by cli:" in out and "up to 9.50" in out and "5.25 USD, 1,000 tokens, 1 items" in out
    with psycopg.connect(database) as db:
        acts = [row[0] for row in db.execute("select act from lanework.audit_log order by id")]
    assert acts == ["job.approve"] * 2 + ["operation.start"], "one row for each act that was done"


def test_many_are_approved_by_an_operation(shop: Shop, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What has waited since before it was asked for; what came or was edited later waits on."""
    ids = [job.id for job in shop.digest.options(owner="ada").submit_many([(f"u{n}", 10) for n in range(3)])]
    testing.drain(shop.app)
    with psycopg.connect(database, autocommit=True) as db:
        [(seen,)] = db.execute("select lanework.now()").fetchall()
    shop.app.edit(ids[2], {"url": "other", "words": 10}, by="eve")
    testing.drain(shop.app)
    preview = shop.app.approve_many(owner="ada", dry_run=True)
    assert (preview.id, preview.state, preview.matched) == (0, "dry run", 3)
    done = shop.app.approve_many(owner="ada", seen_at=seen, limit=9.5, by="boss")
    assert (done.kind, done.state, done.done, done.skipped) == ("approve", "done", 2, 1)
    approval = shop.app.get(ids[0]).approval
    assert approval is not None and (approval.by, float(approval.limit or 0)) == ("boss", 9.5)
    assert shop.app.get(ids[2]).status == "awaiting_approval"
    code, out, err = cli(capsys, database, "jobs", "approve", "--owner", "ada", "--yes", "-o", "json")
    assert code == 0 and "1 job approved" in err
    assert [(one["kind"], one["state"], one["done"]) for one in json.loads(out)] == [("approve", "done", 1)]
    assert shop.app.get(ids[2]).approval is not None
    with pytest.raises(InvalidJob):
        shop.app.approve_many(owner="ada", seen_at="now")  # type: ignore[arg-type]


def test_verify_notices(shop: Shop, database: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanework.cli.commands.verify.SECOND_LOOK", 0.0)
    one, two, three = (shop.digest.submit(url, words=10).id for url in "abc")
    testing.drain(shop.app)
    testing.approve(shop.app, three)
    assert cli(capsys, database, "verify")[0] == 0
    with psycopg.connect(database, autocommit=True) as db:
        db.execute("delete from lanework.approval_requests where job_id = %s", (one,))
        db.execute("update lanework.jobs set status = 'pending' where id = %s", (two,))
        db.execute("update lanework.jobs set payload = '{}' where id = %s", (three,))
    code, out, _ = cli(capsys, database, "verify")
    assert code == 1
    for words in ("no moment at which that ends", "nobody estimates it", "for another payload"):
        assert words in out


def test_rules_on_the_command_line(shop: Shop, database: str, capsys: pytest.CaptureFixture[str]) -> None:
    shop.app.lanes.list()
    assert cli(capsys, database, "approvals", "set", "12.50", "--type", "digest", "--currency", "EUR", "--four-eyes")[0] == 0
    assert cli(capsys, database, "approvals", "set", "always", "--owner", "eve")[0] == 0
    with pytest.raises(SystemExit, match="2"):
        cli(capsys, database, "approvals", "set", "sometimes")
    assert cli(capsys, database, "approvals", "set", "always", "--type", "digets")[0] == 2
    _, out, _ = cli(capsys, database, "approvals", "rules")
    assert "above 12.5 EUR" in out and "eve" in out and "code" in out
    assert cli(capsys, database, "approvals", "remove", "--owner", "eve")[0] == 0
    assert cli(capsys, database, "approvals", "remove", "--owner", "eve")[0] == 1
    rows = json.loads(cli(capsys, database, "approvals", "rules", "-o", "json")[1])
    assert [(row["type"], row["policy"]) for row in rows] == [
        ("digest", {"amount": 12.5, "currency": "EUR"}), ("digest", {"amount": 5.0, "currency": "USD"})]  # fmt: skip
