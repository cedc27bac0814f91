"""Effects in the database: blocks, `transact`, finishes in them."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import psycopg

from lanework import Context
from lanework.errors import JobStopped
from lanework.outcomes import Finished
from tests.inside.jobs.base import app, die, is_open, note


def write(db: psycopg.Connection[Any], job: int, what: str) -> str:
    db.execute("insert into ledger (job, what) values (%s, %s)", (job, what))
    return what


def slow_write(db: psycopg.Connection[Any], job: int, what: str) -> str:
    write(db, job, what)
    db.execute("select pg_sleep(0.2)")
    return what


async def awrite(db: psycopg.AsyncConnection[Any], job: int, what: str) -> str:
    await db.execute("insert into ledger (job, what) values (%s, %s)", (job, what))
    return what


def plain_block(ctx: Context) -> None:
    with ctx.transaction() as tx:
        tx.execute("insert into ledger (job, what) values (%s, 'plain')", (ctx.job_id,))


def pays(ctx: Context, dies: str = "", failures: int = 0) -> str | Finished:
    """One payment by `transact`, one with the finish. Dies once, where it is told to; after the commit, whenever it gets there."""
    note(ctx, "start")
    ctx.transact("pay", write, ctx.job_id, "transact")
    note(ctx, "transacted")
    if ctx.attempt == 1 and dies == "after_transact":
        die()
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    with ctx.transaction() as tx:
        write(tx.connection, ctx.job_id, "finish")
        done = tx.finish({"paid": 2})
        if ctx.attempt == 1 and dies == "before_commit":
            die()
    if dies == "after_commit":
        die()
    return done


app.job("pays_thread", lane="inside", executor="thread", backoff_base=0.05)(pays)
app.job("pays_process", lane="inside", executor="process", backoff_base=0.05)(pays)


async def apays(ctx: Context, dies: str = "", failures: int = 0) -> str | Finished:
    note(ctx, "start")
    await ctx.atransact("pay", awrite, ctx.job_id, "transact")
    note(ctx, "transacted")
    if ctx.attempt == 1 and dies == "after_transact":
        die()
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    async with ctx.atransaction() as tx:
        await awrite(tx.connection, ctx.job_id, "finish")
        done = await tx.finish({"paid": 2})
        if ctx.attempt == 1 and dies == "before_commit":
            die()
    if dies == "after_commit":
        die()
    return done


app.job("pays_async", lane="inside", backoff_base=0.05)(apays)
app.job("pays_own_loop", lane="inside", executor="process", backoff_base=0.05)(apays)


@app.job(lane="inside", executor="thread", max_tries=1)
def blocks(ctx: Context, act: str) -> Any:
    """One block that does one thing."""
    with ctx.transaction(timeout=0.5 if act == "slow" else 30) as tx:
        write(tx.connection, ctx.job_id, act)
        match act:
            case "raise":
                raise ValueError("out of the block")
            case "nest":
                with ctx.transaction():
                    pass
            case "nest_transact":
                ctx.transact("inner", write, ctx.job_id, "inner")
            case "commit":
                tx.commit()
            case "rollback":
                tx.rollback()
            case "connection_commit":
                tx.connection.commit()
            case "slow":
                tx.execute("select pg_sleep(20)")
            case "finish_twice":
                tx.finish(1)
                tx.finish(2)
            case "finish_raise":
                tx.finish(1)
                raise ValueError("after the finish")
            case "unstorable":
                tx.finish(object())
            case "checkpoint":
                tx.checkpoint({"at": 1})
            case "json":
                ((found,),) = tx.execute("select '[1, {}]'::jsonb").fetchall()
                assert found == [1, {}], found
            case "step":
                ctx.step("inside", int)
                ctx.progress(0.5, "inside")
    return [act, ctx.saved]


@app.job(lane="inside", max_tries=1)
async def ablocks(ctx: Context, act: str) -> Any:
    async with ctx.atransaction(timeout=0.5 if act == "slow" else 30) as tx:
        await awrite(tx.connection, ctx.job_id, act)
        match act:
            case "raise":
                raise ValueError("out of the block")
            case "nest":
                async with ctx.atransaction():
                    pass
            case "commit":
                await tx.connection.commit()
            case "slow":
                await tx.execute("select pg_sleep(20)")
            case "checkpoint":
                await tx.checkpoint({"at": 1})
            case "json":
                ((found,),) = await (await tx.execute("select '[1, {}]'::jsonb")).fetchall()
                assert found == [1, {}], found
    return [act, ctx.saved]


@app.job(lane="inside", executor="thread", max_tries=1)
def idle_block(ctx: Context) -> None:
    """Nobody talks to the server for longer than the block may last."""
    with ctx.transaction(timeout=0.5) as tx:
        write(tx.connection, ctx.job_id, "idle")
        time.sleep(1.5)


@app.job(lane="inside", executor="thread", max_tries=1)
def long_timeout(ctx: Context) -> None:
    with ctx.transaction(timeout=100_000):
        pass


@app.job(lane="inside", executor="thread", max_tries=1)
def with_sqlalchemy(ctx: Context, act: str) -> Any:
    from sqlalchemy import text  # here: every process of these tests loads this module, and few need it

    with ctx.transaction() as tx:
        with tx.sqlalchemy() as session:
            session.execute(text("insert into ledger (job, what) values (:job, :what)"), {"job": ctx.job_id, "what": "orm"})
            assert session.execute(text("select pg_backend_pid()")).scalar() == tx.connection.info.backend_pid
            if act.startswith("commit"):
                session.commit()
        if act.endswith("raise"):
            raise ValueError("nothing of it stays")
        return tx.finish("orm")


@app.job(lane="inside", executor="thread")
def holds_block(ctx: Context, finish: bool = False) -> Any:
    """An open transaction for as long as a test likes."""
    try:
        with ctx.transaction(timeout=30) as tx:
            write(tx.connection, ctx.job_id, "held")
            done = tx.finish("held") if finish else None
            note(ctx, "start")
            while not is_open(f"block-{ctx.job_id}"):
                ctx.raise_if_cancelled()
                time.sleep(0.01)
        return done
    except JobStopped:
        note(ctx, "stopped")
        raise


def stuck_block(ctx: Context, seconds: float) -> None:
    """In the server, where no cancel reaches it, in an open transaction."""
    with ctx.transaction(timeout=30) as tx:
        write(tx.connection, ctx.job_id, "stuck")
        note(ctx, "start")
        tx.execute("select pg_sleep(%s)", (seconds,))
        ctx.raise_if_cancelled()


@app.job(lane="inside", executor="thread")
def stuck_thread(ctx: Context, lock: int) -> None:
    """The same, for as long as somebody holds this lock."""
    with ctx.transaction(timeout=120) as tx:
        write(tx.connection, ctx.job_id, "stuck")
        note(ctx, "start")
        tx.execute("select pg_advisory_xact_lock(%s)", (lock,))
        ctx.raise_if_cancelled()


app.job("stuck_process", lane="inside", executor="process")(stuck_block)


@app.job(lane="inside", executor="process", backoff_base=0.05)
def works_in_block(ctx: Context) -> str:
    """Its connection is at work for the block when its process is killed."""
    if ctx.attempt == 1:
        with ctx.transaction(timeout=60) as tx:
            note(ctx, "start")
            tx.execute("select pg_sleep(50)")
    return f"attempt {ctx.attempt}"


@app.job(lane="inside")
async def aholds_block(ctx: Context) -> None:
    async with ctx.atransaction(timeout=30) as tx:
        await awrite(tx.connection, ctx.job_id, "held")
        note(ctx, "start")
        await asyncio.sleep(1000)
