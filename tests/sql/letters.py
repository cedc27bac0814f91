"""Jobs that die, and ways back for them."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from tests.sql.engine import Claim, Engine


def a_lane(engine: Engine) -> tuple[int, int, int]:
    return engine.lane("l", None), engine.type("t", "l"), engine.worker()


def die(engine: Engine, *, count: int = 1, error: str = "boom", error_class: str = "permanent", **options: Any) -> list[int]:
    """So many dead letters of type `t`."""
    (known,) = engine.rows(
        """select (select id from lanework.lanes where name = 'l') as lane,
                  (select id from lanework.job_types where name = 't') as kind,
                  (select id from lanework.workers limit 1) as worker"""
    )
    lane, kind, worker = known.values() if known["lane"] else a_lane(engine)
    ids = [engine.enqueue("t", {"n": n}, **options) for n in range(count)]
    engine.sweep()
    for _ in ids:
        (claim,) = engine.claim(worker, lane, kind)
        engine.settle(worker, claim, action="fail", error=error, error_class=error_class)
    return ids


def run(engine: Engine, want: int = 1) -> list[Claim]:
    lane, kind, worker = (
        engine.one(f"select id from lanework.{table} where {what} limit 1")
        for table, what in (("lanes", "name = 'l'"), ("job_types", "name = 't'"), ("workers", "true"))
    )
    return engine.claim(worker, lane, kind, want=want)


def retry(engine: Engine, job: int, **options: Any) -> str:
    named = "".join(f", p_{name} => %s" for name in options)
    return str(engine.one(f"select lanework.retry(%s, 'ada'{named})", job, *options.values()))


def redrive(engine: Engine, *, canary: bool = True, per_minute: int | None = None, **chosen: Any) -> int:
    return int(engine.one("select lanework.start_redrive(%s, %s, %s, 'ada')", Jsonb(chosen), canary, per_minute))


def carry(engine: Engine) -> int:
    return int(engine.one("select lanework.carry_redrives()"))


def the_redrive(engine: Engine, number: int) -> dict[str, Any]:
    return engine.rows("select * from lanework.redrives where id = %s", number)[0]


def groups(engine: Engine) -> list[dict[str, Any]]:
    return engine.rows("select * from lanework.dead_groups order by count desc, fingerprint")
