"""What events and metrics must say, from the history that the instruments keep of every committed change."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.sql.engine import Engine

#: What happened, as the history has it: (kind, job).
HAPPENED = """
    select 'submitted' as kind, job_id from proof.history where place = 'jobs' and was is null
    union all select 'started', job_id from proof.history where place = 'jobs' and status = 'running' and was <> 'running'
    union all select status::text, job_id from proof.history where place <> 'jobs' and was is null
    union all select lanework.kind_of(outcome), job_id from lanework.attempts
    where outcome in ('retry', 'snooze', 'release', 'wait')"""
TOLD = """
    select kind, coalesce(j, job_id) as job_id from lanework.events e
    left join lateral (
        select unnest(e.job_ids) as j
        union all select generate_series(lower(e.job_range), upper(e.job_range) - 1)) x on true
    where topic = 'job'"""


def happened(engine: Engine) -> Counter[tuple[str, int]]:
    return Counter((row["kind"], row["job_id"]) for row in engine.rows(HAPPENED))


def told(engine: Engine) -> Counter[tuple[str, int]]:
    return Counter((row["kind"], row["job_id"]) for row in engine.rows(TOLD))


COUNTS = ("submitted", "started", "completed", "failed", "retried", "recovered", "cancelled")


def counted(engine: Engine) -> dict[tuple[int, str], int]:
    """Per type and kind; kinds that did not happen are left out."""
    sums = ", ".join(f"sum({name})::bigint as {name}" for name in COUNTS)
    rows = engine.rows(f"select type_id, {sums} from lanework.rollups group by type_id")
    return {(row["type_id"], name): row[name] for row in rows for name in COUNTS if row[name]}


def happened_by_type(engine: Engine) -> dict[tuple[int, str], int]:
    rows = engine.rows(
        f"""select h.type_id, x.kind, count(*) as n from ({HAPPENED}) x
            join (select distinct job_id, type_id from proof.history) h using (job_id) group by 1, 2""")  # fmt: skip
    return {(row["type_id"], row["kind"]): row["n"] for row in rows if row["kind"] in COUNTS}


def check(engine: Engine) -> None:
    """Each change was told once, and counted once; histograms have as many entries as there are times."""
    assert told(engine) == happened(engine)
    assert counted(engine) == happened_by_type(engine)
    row: dict[str, Any] = engine.rows(
        """select (select coalesce(sum(n), 0) from lanework.rollups, unnest(run_hist) n) as ran,
                  (select coalesce(sum(n), 0) from lanework.rollups, unnest(wait_hist) n) as waited,
                  (select count(*) from lanework.jobs_done where status = 'completed') as completed,
                  (select count(distinct job_id) from proof.history where status = 'running') as started""")[0]  # fmt: skip
    assert (row["ran"], row["waited"]) == (row["completed"], row["started"])
    by_class = {
        source: {row["error_class"]: row["n"] for row in engine.rows(sql)}
        for source, sql in {
            "failed": "select error_class, count(*) as n from lanework.jobs_failed group by 1",
            "counted": "select error_class, sum(failed)::bigint as n from lanework.error_rollups group by 1 having sum(failed) > 0",
        }.items()
    }
    assert by_class["counted"] == by_class["failed"]
