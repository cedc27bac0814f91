"""Promise 26, the other half: the audit log can be added to, nothing else; and whoever goes around that is found out."""

from __future__ import annotations

import time

import psycopg
import pytest

from tests.sql.conftest import Another
from tests.sql.engine import Engine

ACT = "select lanework.audit('me', 'thing.do', %s)"


def seal(engine: Engine, wanted: int) -> None:
    """Until so many are sealed: a transaction of anybody on the server holds the horizon back."""
    deadline = time.monotonic() + 90
    while engine.one("select count(*) from lanework.audit_seals") < wanted:
        assert time.monotonic() < deadline, "the rows are not sealed"
        engine.rows("select lanework.seal_audit()")


def check(engine: Engine) -> tuple[int, int, int | None]:
    (found,) = engine.rows("select * from lanework.verify_audit()")
    return found["sealed"], found["unsealed"], found["bad"]


def around(engine: Engine, sql: str, *args: object) -> None:
    """As the owner of the server could."""
    with engine.db.transaction():
        engine.rows("set local session_replication_role = replica")
        engine.rows(sql, *args)


def acts(engine: Engine, count: int = 5) -> list[int]:
    made = [int(engine.one(ACT, f"thing:{n}")) for n in range(count)]
    seal(engine, count)
    return made


@pytest.mark.parametrize("table", ["audit_log", "audit_seals"])
@pytest.mark.parametrize("what", ["update lanework.{} set xid = xid", "delete from lanework.{}", "truncate lanework.{}"])
def test_nothing_but_adding(engine: Engine, table: str, what: str) -> None:
    acts(engine, 1)
    with pytest.raises(psycopg.Error, match="append-only") as refused:
        engine.rows(what.format(table) + (" cascade" if "truncate" in what else ""))
    assert refused.value.sqlstate == "LW580"


def test_an_untouched_log_is_good(engine: Engine) -> None:
    acts(engine)
    engine.rows(ACT, "thing:new")
    assert check(engine) == (5, 1, None)
    head = engine.one("select head from lanework.verify_audit()")
    seal(engine, 6)
    assert check(engine) == (6, 0, None)
    assert engine.one("select head from lanework.verify_audit()") != head


@pytest.mark.parametrize(
    "change", ["actor = 'another'", "act = 'thing.undo'", "target = 'x'", "at = at + interval '1 us'", "after = '{}'",
               "before = '1'", "origin = 'elsewhere'"],
)  # fmt: skip
def test_a_changed_row_is_found(engine: Engine, change: str) -> None:
    third = acts(engine)[2]
    around(engine, f"update lanework.audit_log set {change} where id = %s", third)
    assert check(engine) == (2, 0, third)


def test_a_row_that_was_taken_out_is_found(engine: Engine) -> None:
    third = acts(engine)[2]
    around(engine, "delete from lanework.audit_log where id = %s", third)
    assert check(engine)[2] == third


def test_a_row_taken_out_with_its_seal_is_found(engine: Engine) -> None:
    made = acts(engine)
    around(engine, "delete from lanework.audit_log where id = %s", made[2])
    around(engine, "delete from lanework.audit_seals where audit_id = %s", made[2])
    assert check(engine)[2] == made[3]


def test_a_row_that_was_put_in_is_found(engine: Engine) -> None:
    made = acts(engine)
    row = "select xid, actor, 'thing.forged', target from lanework.audit_log where id = %s"
    around(engine, f"insert into lanework.audit_log (xid, actor, act, target) {row}", made[1])
    forged = engine.one("select max(id) from lanework.audit_log")
    engine.rows("select lanework.seal_audit()")
    assert check(engine)[2] == forged


def test_seals_follow_the_order_of_transactions(engine: Engine, another: Another) -> None:
    """The first transaction writes its row last and commits last: nothing behind it is sealed before, and it comes first."""
    slow = another()
    with slow.db.transaction():
        slow.rows("select pg_current_xact_id()")
        quick = engine.one(ACT, "thing:quick")
        engine.rows("select lanework.seal_audit()")
        assert engine.one("select count(*) from lanework.audit_seals") == 0, "sealed above the horizon"
        late = slow.one(ACT, "thing:late")
    assert late > quick
    seal(engine, 2)
    sealed = [row["audit_id"] for row in engine.rows("select audit_id from lanework.audit_seals order by position")]
    assert sealed == [late, quick]
    assert check(engine) == (2, 0, None)


def test_one_sealer_at_a_time(engine: Engine, another: Another) -> None:
    engine.rows(ACT, "thing:one")
    other = another()
    with other.db.transaction():
        other.rows("select lanework.seal_audit()")
        with engine.db.transaction():
            engine.rows("set local lock_timeout = '1s'")  # not to wait for the other, either
            assert engine.one("select lanework.seal_audit()") == 0
    seal(engine, 1)
    assert check(engine) == (1, 0, None)


def test_sealing_is_a_maintenance_task(engine: Engine) -> None:
    assert engine.one("select kind from lanework.maintenance_tasks where name = 'seals'") == "sql"
    engine.rows(ACT, "thing:one")
    deadline = time.monotonic() + 90
    while not engine.one("select count from lanework.run_task('seals') where thing = 'sealed'"):
        assert time.monotonic() < deadline
    assert check(engine) == (1, 0, None)
