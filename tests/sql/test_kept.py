"""The session that the tests here hand on: whatever one leaves in it, the next one finds it as new."""

from __future__ import annotations

import psycopg
import pytest

from tests.sql.conftest import Kept

LEFT = """select concat_ws(' ', current_setting('work_mem'), current_user,
    (select count(*) from pg_class where relname = 'left_over'), (select count(*) from pg_listening_channels()),
    (select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'))"""


def test_nothing_is_left(_wiped: Kept) -> None:
    engine = _wiped.engine()
    new = engine.one(LEFT)
    engine.db.execute("listen something; set work_mem = '1MB'; create temp table left_over (); select pg_advisory_lock(7)")
    engine.db.execute("set session authorization pg_monitor")
    assert engine.one(LEFT) != new
    assert _wiped.engine().one(LEFT) == new


@pytest.mark.parametrize("broken", [False, True])
def test_a_transaction_that_was_left_open(_wiped: Kept, broken: bool) -> None:
    engine = _wiped.engine()
    engine.db.execute("begin")
    engine.lane("left_over")
    if broken:
        with pytest.raises(psycopg.errors.DivisionByZero):
            engine.db.execute("select 1 / 0")
    assert _wiped.engine().one("select count(*) from lanework.lanes where name = 'left_over'") == 0


def test_a_statement_that_was_broken_off(_wiped: Kept) -> None:
    _wiped.engine().db.pgconn.send_query(b"select pg_sleep(0.1)")
    assert _wiped.engine().one("select 1") == 1


def test_a_connection_that_was_closed(_wiped: Kept) -> None:
    _wiped.engine().db.close()
    assert _wiped.engine().one("select 1") == 1
