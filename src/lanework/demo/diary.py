"""The tour's own tables: every run of a job's body, and every effect it had. Written by the jobs, read by the proof.

Nothing here keeps an effect from being stored twice but that a body looks first whether it is there: two bodies of one
job at once would show.
"""

from __future__ import annotations

import os
from typing import Any

import psycopg

from lanework import Context

DSN = "LANEWORK_DEMO_DSN"
_TABLES = """
    create schema if not exists demo;
    create table if not exists demo.runs (
        job_id bigint not null, attempt int not null, type text not null, lane text not null, pid int not null,
        resumed_at int not null default 0, started_at timestamptz not null default clock_timestamp(), ended_at timestamptz,
        primary key (job_id, attempt));
    create table if not exists demo.effects (key text not null, job_id bigint not null, attempt int not null);
    create index if not exists effects_key on demo.effects (key)
"""
_BEGIN = "insert into demo.runs (job_id, attempt, type, lane, pid, resumed_at) values (%s, %s, %s, %s, %s, %s)"
_EFFECT = """
    insert into demo.effects select %(key)s, %(job)s, %(attempt)s
    where not exists (select from demo.effects where key = %(key)s)
"""
_END = "update demo.runs set ended_at = clock_timestamp() where job_id = %s and attempt = %s"


def make(dsn: str) -> None:
    with psycopg.connect(dsn) as db:
        db.execute(_TABLES)


def begin(ctx: Context, resumed_at: int = 0) -> None:
    _do(_BEGIN, [ctx.job_id, ctx.attempt, ctx.type, ctx.lane, os.getpid(), resumed_at])


def effect(ctx: Context, step: str = "") -> None:
    """An effect on the world outside: with a key that is the same in every attempt."""
    _do(_EFFECT, {"key": ctx.idempotency_key(step), "job": ctx.job_id, "attempt": ctx.attempt})


def end(ctx: Context) -> None:
    _do(_END, [ctx.job_id, ctx.attempt])


def _do(statement: str, values: Any) -> None:
    with psycopg.connect(os.environ[DSN]) as db:
        db.execute(statement.encode(), values)
