"""The engine's verbs as the tests of the SQL call them: one connection, thin typed wrappers, nothing of `lanework` itself."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[dict[str, Any]]
#: Numbers of calls and claims, rising over all workers of a test run.
numbers = itertools.count(1)
TOP = (-32768, datetime(1970, 1, 1, tzinfo=UTC), 0)


class Claim(NamedTuple):
    """The triple that guards every write made for a claim."""

    id: int
    attempt: int
    claim_id: uuid.UUID


class Range(NamedTuple):
    """A piece of the claim index: one type from a position (exclusive) up to a rank (exclusive). Of a plain lane, unless turns are
    given."""

    type: int
    after: tuple[int, datetime, int] = TOP
    below: int = 32768
    version: int = 1
    turn: int = 0
    below_turn: int = 0


def connect(dsn: str, **options: Any) -> Connection:
    return psycopg.connect(dsn, autocommit=True, row_factory=dict_row, prepare_threshold=None, **options)


def columns(claims: Iterable[Claim]) -> tuple[list[int], list[int], list[uuid.UUID]]:
    rows = list(claims)
    return [c.id for c in rows], [c.attempt for c in rows], [c.claim_id for c in rows]


@dataclass
class Engine:
    """Verbs on one connection."""

    db: Connection

    def rows(self, sql: str, *args: Any) -> list[dict[str, Any]]:
        cursor = self.db.execute(sql, args)
        return cursor.fetchall() if cursor.description else []

    def one(self, sql: str, *args: Any) -> Any:
        """The first column of the first row."""
        row = self.db.execute(sql, args).fetchone()
        assert row is not None, f"no row: {sql}"
        return next(iter(row.values()))

    # what code and operators declare

    def lane(self, name: str, slots: int | None = 1, worker_slots: int | None = None) -> int:
        return int(self.one(
            "insert into lanework.lanes (name, max_slots, worker_slots) values (%s, %s, %s) returning id",
            name, slots, worker_slots))  # fmt: skip

    def type(self, name: str, lane: str = "default", **options: Any) -> int:
        names = ["name", "lane", *options]
        sql = f"insert into lanework.job_types ({', '.join(names)}) values ({', '.join(['%s'] * len(names))}) returning id"
        return int(self.one(sql, name, lane, *options.values()))

    def enqueue(self, type: str, payload: Mapping[str, Any] | None = None, **options: Any) -> int:
        named = "".join(f", {name} => %s" for name in options)
        return int(self.one(
            f"select lanework.enqueue(%s, %s{named}, hint => false)", type, Jsonb(payload or {}), *options.values()
        ))  # fmt: skip

    def worker(self, name: str = "w", ttl: timedelta = timedelta(seconds=1)) -> int:
        return int(self.one("select lanework.start_worker(%s, 'here', 1, %s, '{}', '{}', '{}')", name, ttl))

    # claims and ends

    def claim(
        self,
        worker: int,
        lane: int,
        *types: int | Range,
        no: int | None = None,
        call: int | None = None,
        claim_id: uuid.UUID | None = None,
        want: int = 1,
        used: int = 0,
        capped: Mapping[int, int] | None = None,
        done: Sequence[Claim] | None = None,
    ) -> list[Claim]:
        """Finishes `done` and claims in one call, as a worker does."""
        claim_id = claim_id or uuid.uuid4()
        rows = self.claim_rows(
            worker, lane, *types, no=no, call=call, claim_id=claim_id, want=want, used=used, capped=capped, done=done
        )
        return [Claim(row["id"], row["attempt"], claim_id) for row in rows if row["id"] > 0]

    def claim_rows(
        self,
        worker: int,
        lane: int,
        *types: int | Range,
        no: int | None = None,
        call: int | None = None,
        claim_id: uuid.UUID | None = None,
        want: int = 1,
        used: int = 0,
        capped: Mapping[int, int] | None = None,
        done: Sequence[Claim] | None = None,
    ) -> list[dict[str, Any]]:
        ranges = [t if isinstance(t, Range) else Range(t, turn=-(2**31)) for t in types]
        capped = capped or {}
        ended = (None, None, None, None) if done is None else (*columns(done), ["null"] * len(done))
        return self.rows(
            """select * from lanework.complete_and_claim(
                %s, %s, %s, %s, %s, %s, %s, %s::int[], %s::int[], %s::int[], %s::smallint[], %s::int[], %s::smallint[],
                %s::timestamptz[], %s::bigint[], %s::int[], %s::int[], %s::bigint[], %s::int[], %s::uuid[], %s::text[])""",
            worker, lane, call or next(numbers), no or next(numbers), claim_id or uuid.uuid4(), want, used,
            list(capped), list(capped.values()),
            [r.type for r in ranges], [r.version for r in ranges], [r.turn for r in ranges], [r.after[0] for r in ranges],
            [r.after[1] for r in ranges], [r.after[2] for r in ranges], [r.below_turn for r in ranges],
            [r.below for r in ranges], *ended,
        )  # fmt: skip

    def completed(self, worker: int, *claims: Claim, result: Any = None) -> int:
        return int(self.one(
            "select lanework.completed(%s, %s::bigint[], %s::int[], %s::uuid[], %s::text[])",
            worker, *columns(claims), [json.dumps(result)] * len(claims)))  # fmt: skip

    def settle(self, worker: int | None, *claims: Claim, action: str = "retry", **verdict: Any) -> dict[int, str]:
        """The next state of each job whose claim held."""
        body = Jsonb({"action": action, "uses_try": action in ("retry", "fail"), **verdict})
        rows = self.rows(
            "select * from lanework.settle(%s, %s::bigint[], %s::int[], %s::uuid[], %s::jsonb[])",
            worker, *columns(claims), [body] * len(claims))  # fmt: skip
        return {row["id"]: row["next"] for row in rows}

    def read_back(self, worker: int, *claims: Claim) -> dict[int, bool]:
        rows = self.rows("select * from lanework.read_back(%s, %s::bigint[], %s::int[], %s::uuid[])", worker, *columns(claims))
        return {row["id"]: row["ended"] for row in rows}

    # what a running job writes; each answers the ids that were accepted

    def progress(self, *claims: Claim, message: str = "") -> set[int]:
        return self._accepted(
            "lanework.write_progress(%s::bigint[], %s::int[], %s::uuid[], %s::real[], %s::text[], %s::text[])",
            *columns(claims), [0.5] * len(claims), [message] * len(claims), [None] * len(claims))  # fmt: skip

    def log(self, *claims: Claim, text: str = "line") -> set[int]:
        ids, attempts, uuids = columns(claims)
        return self._accepted(
            "lanework.write_logs(%s::bigint[], %s::int[], %s::uuid[], %s::bigint[], %s::int[], %s::text[], %s::text[])",
            ids, attempts, uuids, ids, attempts, ["stdout"] * len(ids), [text] * len(ids))  # fmt: skip

    def checkpoint(self, claim: Claim, state: Any = None) -> bool:
        return bool(self.one("select lanework.save_checkpoint(%s, %s, %s, %s)", *claim, json.dumps(state)))

    def _accepted(self, call: str, *args: Any) -> set[int]:
        return {row["id"] for row in self.rows(f"select x as id from {call} x", *args)}

    # workers and upkeep

    def beat(self, worker: int, open: Iterable[int] = (), told: int = 2**40, gap: str = "5 s") -> list[dict[str, Any]]:
        return self.rows("select * from lanework.beat(%s, %s::bigint[], %s, %s)", worker, list(open), told, gap)

    def end_worker(self, worker: int, state: str = "dead", suspect: bool = False) -> tuple[int, int]:
        row = self.rows("select * from lanework.end_worker(%s, %s, 'ended', %s)", worker, state, suspect)[0]
        return row["given_back"], row["remaining"]

    def reap(self, worker: int) -> set[int]:
        return {row["worker_id"] for row in self.rows("select * from lanework.reap(%s)", worker)}

    def lead(self, worker: int, lease: timedelta = timedelta(seconds=10)) -> bool:
        return bool(self.one("select lanework.lead(%s, %s)", worker, lease))

    def promote(self, limit: int = 500) -> int:
        return sum(row["promoted"] for row in self.rows("select * from lanework.promote(%s)", limit))

    def sweep(self) -> dict[str, int]:
        return {row["what"]: row["count"] for row in self.rows("select * from lanework.sweep()")}

    def cancel(self, job: int, reason: str = "") -> str | None:
        answer = self.one("select lanework.cancel(%s, 'me', %s)", job, reason)
        return None if answer is None else str(answer)

    # reading

    def job(self, job: int) -> dict[str, Any]:
        """The job's row and the table it is in; a job must be in exactly one."""
        rows = self.rows(
            """select 'jobs' as place, to_jsonb(j) as body from lanework.jobs j where id = %s
               union all select 'jobs_done', to_jsonb(j) from lanework.jobs_done j where id = %s
               union all select 'jobs_failed', to_jsonb(j) from lanework.jobs_failed j where id = %s""",
            job, job, job)  # fmt: skip
        assert len(rows) == 1, f"job {job} is in {[row['place'] for row in rows]}"
        return {"place": rows[0]["place"], **rows[0]["body"]}

    def status(self, job: int) -> str:
        return str(self.job(job)["status"])

    def used(self, lane: int) -> int:
        return int(self.one("select coalesce(sum(used), 0) from lanework.lane_use where lane_id = %s", lane))
