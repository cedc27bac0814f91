"""Promise 26: every operator act has one audit row in the same transaction, and what is refused has none."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.sql.audited import CARRIERS, SAMPLES, Call, Scene
from tests.sql.engine import Engine

ROWS = "select xid::text, actor from lanework.audit_log"
ACTS = [(name, n) for name, sample in SAMPLES.items() for n in range(len(sample.acts))]
REFUSALS = [(name, n) for name, sample in SAMPLES.items() for n in range(len(sample.refuses))]


def test_every_act_has_a_sample(engine: Engine) -> None:
    """An act is a function that is told by whom. (`carry_…` goes on with what an act has begun.)"""
    found = engine.rows(
        """select p.proname as name from pg_proc p
           where p.pronamespace = 'lanework'::regnamespace and 'p_by' = any (p.proargnames) and p.proname not like %s""", CARRIERS,
    )  # fmt: skip
    assert {row["name"] for row in found} == set(SAMPLES), "put a sample of the new act into tests/sql/audited.py"


@pytest.mark.parametrize(("name", "n"), ACTS)
def test_an_act_has_one_audit_row_in_its_transaction(engine: Engine, name: str, n: int) -> None:
    sql, *args = SAMPLES[name].acts[n](Scene(engine))
    with engine.db.transaction():
        engine.rows(sql, *args)
        xid = engine.one("select pg_current_xact_id()::text")
    assert engine.rows(ROWS) == [{"xid": xid, "actor": "me"}]


@pytest.mark.parametrize(("name", "n"), ACTS[::3])
def test_an_act_that_is_undone_has_none(engine: Engine, name: str, n: int) -> None:
    sql, *args = SAMPLES[name].acts[n](Scene(engine))
    with engine.db.transaction(force_rollback=True):
        engine.rows(sql, *args)
    assert engine.rows(ROWS) == []


@pytest.mark.parametrize(("name", "n"), REFUSALS)
def test_what_is_refused_has_none(engine: Engine, name: str, n: int) -> None:
    attempt(engine, SAMPLES[name].refuses[n])
    assert engine.rows(ROWS) == []


def attempt(engine: Engine, make: Callable[[Scene], Call]) -> None:
    sql, *args = make(Scene(engine))
    try:
        engine.rows(sql, *args)
    except psycopg.Error as error:
        assert error.sqlstate.startswith(("LW", "23")), error  # type: ignore[union-attr]


def test_carrying_on_writes_none(engine: Engine) -> None:
    scene = Scene(engine)
    scene.operation()
    engine.rows("select lanework.carry_operations()")
    assert engine.status(scene.ids["waiting"]) == "cancelled"
    assert engine.rows(ROWS) == []


def test_the_engines_own_cascades_write_none(engine: Engine) -> None:
    """Children of a cancelled job, jobs that are too old, stops that are carried out later: nobody's act but the first."""
    scene = Scene(engine)
    kind = engine.one("select id from lanework.job_types where name = 't'")
    (claim,) = engine.claim(scene.worker, scene.lane, kind, used=1)
    engine.rows("select * from lanework.submit_children(%s, %s, %s, '{a}', 't', '{\"{}\"}', 1, null, null, null, null)", *claim)
    engine.rows("select lanework.cancel(%s, 'me')", claim.id)
    assert engine.settle(scene.worker, claim, action="release") == {claim.id: "cancelled"}
    engine.sweep()
    assert engine.one("select count(*) from lanework.jobs where parent = %s", claim.id) == 0
    assert [row["actor"] for row in engine.rows(ROWS)] == ["me"]
