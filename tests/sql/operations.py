"""Acts on many jobs, as an operator starts them and a leader carries them."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.sql.engine import Engine

ANY = "select matched, done, skipped, state, position, error from lanework.operations where id = %s"


def start(engine: Engine, kind: str, filter: dict[str, Any], **args: Any) -> int:
    return int(engine.one("select lanework.start_operation(%s, %s, %s, 'ann', 'why')", kind, Jsonb(filter), Jsonb(args)))


def carry(engine: Engine, operation: int | None = None) -> bool:
    return bool(engine.one("select lanework.carry_operations(%s)", operation))


def operation(engine: Engine, id: int) -> dict[str, Any]:
    return engine.rows(ANY, id)[0]


def matching(engine: Engine, after: int = 0, limit: int = 100, **filter: Any) -> list[int]:
    rows = engine.rows("select lanework.matching(%s, %s, 9223372036854775807, %s) as id", Jsonb(filter), after, limit)
    return [row["id"] for row in rows]


def many(engine: Engine, count: int, type: str = "t") -> None:
    engine.rows(
        "insert into lanework.jobs (type_id, status) select t.id, 'approved' from lanework.job_types t, generate_series(1, %s) "
        "where t.name = %s", count, type)  # fmt: skip


def refused(engine: Engine, code: str, sql: str, *args: Any) -> str:
    with pytest.raises(psycopg.Error) as caught:
        engine.rows(sql, *args)
    assert caught.value.sqlstate == code
    return str(caught.value)


def lanes(engine: Engine) -> int:
    """The lane of the type `t`; there is a type `u` in the default lane, too."""
    lane = engine.lane("l", None)
    engine.type("t", "l")
    engine.type("u", "default")
    return lane


def kind(engine: Engine, name: str = "t") -> int:
    return int(engine.one("select id from lanework.job_types where name = %s", name))
