"""The application of these tests. What a body did is noted in a file; when it may go on is said by gates, which are files too.

Child processes and workers import this module; the tests read what it leaves behind.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
from pydantic import BaseModel

from lanework import Cancel, ClaimLost, Context, Estimate, Fail, Lanework, Partial, Retryable, Snooze, Wait
from lanework.errors import JobStopped
from lanework.outcomes import Finished

FOLDER = "LANEWORK_TEST_FOLDER"
SECRET = "sk-very-secret"

app = Lanework()
app.secrets.add(SECRET)
app.lane("inside", max_slots=None, poll_interval_ms=250)
app.lane("kids", max_slots=None, poll_interval_ms=250)
app.lane("single", max_slots=1, poll_interval_ms=250)


def folder() -> Path:
    return Path(os.environ[FOLDER])


def note(ctx: Context, word: str) -> None:
    with (folder() / "notes").open("a") as file:  # one short write: lines of several processes do not mix
        file.write(f"{ctx.job_id} {ctx.attempt} {os.getpid()} {time.monotonic():.6f} {word}\n")


def is_open(name: str) -> bool:
    return (folder() / f"gate-{name}").exists()


def wait_for(name: str) -> None:
    while not is_open(name):
        time.sleep(0.01)


async def await_for(name: str) -> None:
    while not is_open(name):
        await asyncio.sleep(0.01)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)


# -- steps -------------------------------------------------------------------------------------------------------------


@dataclass
class Point:
    x: int
    way: tuple[int, ...]


class Answer(BaseModel):
    text: str
    score: float


def make_point(ctx: Context, x: int) -> Point:
    note(ctx, "run point")
    return Point(x, (1, 2))


def make_pair(ctx: Context) -> tuple[int, str]:
    note(ctx, "run pair")
    return (1, "two")


def make_answer(ctx: Context) -> Answer:
    note(ctx, "run answer")
    return Answer(text="yes", score=0.5)


def make_plain(ctx: Context):  # type: ignore[no-untyped-def]
    note(ctx, "run plain")
    return {"t": (1, 2)}


def make_nothing(ctx: Context) -> None:
    note(ctx, "run nothing")


def steps(ctx: Context, failures: int = 0) -> list[Any]:
    got = [
        ctx.step("point", make_point, ctx, x=7),
        ctx.step("pair", make_pair, ctx),
        ctx.step("answer", make_answer, ctx),
        ctx.step("plain", make_plain, ctx),
        ctx.step("nothing", make_nothing, ctx),
    ]
    note(ctx, f"got {got!r}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    return [repr(one) for one in got]


app.job("steps_thread", lane="inside", executor="thread", backoff_base=0.05)(steps)
app.job("steps_process", lane="inside", executor="process", backoff_base=0.05)(steps)


async def amake_point(ctx: Context, x: int) -> Point:
    await asyncio.sleep(0)
    return make_point(ctx, x)


async def asteps(ctx: Context, failures: int = 0) -> list[Any]:
    got = [
        await ctx.astep("point", amake_point, ctx, x=7),
        await ctx.astep("pair", make_pair, ctx),
        await ctx.astep("answer", make_answer, ctx),
        await ctx.astep("plain", make_plain, ctx),
        await ctx.astep("nothing", make_nothing, ctx),  # type: ignore[func-returns-value]
    ]
    note(ctx, f"got {got!r}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    return [repr(one) for one in got]


app.job("steps_async", lane="inside", backoff_base=0.05)(asteps)
app.job("steps_own_loop", lane="inside", executor="process", backoff_base=0.05)(asteps)


def make_big(ctx: Context) -> str:
    note(ctx, "run big")
    return "ü" * 900_000  # under a million characters, over a million bytes


def big(ctx: Context) -> int:
    found = ctx.step("big", make_big, ctx)
    if ctx.tries_used == 0:
        raise ConnectionError("again")
    assert found == "ü" * 900_000
    return len(found)


app.job("big_thread", lane="inside", executor="thread", backoff_base=0.05)(big)
app.job("big_process", lane="inside", executor="process", backoff_base=0.05)(big)


@app.job(lane="inside", backoff_base=0.05)
async def big_async(ctx: Context) -> int:
    """A large step, large items, and a blob of one's own."""
    found = await ctx.astep("big", make_big, ctx)
    items = await ctx.amap("items", [1, 2], lambda _: make_big(ctx))
    name = await ctx.aput_blob(b"abc")
    assert await ctx.aget_blob(name) == b"abc"
    if ctx.tries_used == 0:
        raise ConnectionError("again")
    return len(found) + sum(map(len, items))


@app.job(lane="inside", executor="thread")
def blobs(ctx: Context) -> list[Any]:
    name = ctx.put_blob(b"\0\xff")
    assert ctx.get_blob(name) == b"\0\xff"
    try:
        ctx.get_blob("sha256:nothing")
    except KeyError:
        return [name]
    return []


@app.job(lane="inside", executor="thread")
def names(ctx: Context, name: str) -> str:
    return ctx.step(name, lambda: "stored")


@app.job(lane="inside", executor="thread", max_tries=1)
def bad_step(ctx: Context, surrogate: bool = False) -> object:
    return ctx.step("\ud800", int) if surrogate else ctx.step("bad", object)


def one_step(ctx: Context, name: str) -> str:
    note(ctx, f"run {name}")
    return name


@app.job(lane="inside", executor="thread", max_tries=10)
def pipeline(ctx: Context) -> list[str]:
    """For kills at the failpoints around each step."""
    return [ctx.step(name, one_step, ctx, name) for name in ("a", "b")]


@app.job(lane="inside", max_tries=10)
async def apipeline(ctx: Context) -> list[str]:
    return [await ctx.astep(name, one_step, ctx, name) for name in ("a", "b")]


def priced_body(ctx: Context) -> list[str]:
    return [ctx.step(name, one_step, ctx, name) for name in ("a", "b", "c")]


def priced_cost(ctx: Context) -> Estimate:
    """Pays for two of the three steps of the run."""
    names = [ctx.step(name, one_step, ctx, name) for name in ("a", "b")]
    ctx.spent(0.5, key="estimate")
    return Estimate(low=1, high=3, items=len(names))


for where in ("thread", "process"):
    priced = app.job(f"priced_{where}", lane="inside", executor=where, max_tries=10, approval="always")(priced_body)
    priced.estimator(executor=where, max_tries=10)(priced_cost)


@app.job(lane="inside", executor="thread")
def zombie(ctx: Context) -> str:
    """Every write that a claim allows, tried by an attempt that has been superseded."""
    note(ctx, "start")
    wait_for(f"zombie-{ctx.job_id}-{ctx.attempt}")
    writes: dict[str, Callable[[], Any]] = {
        "step": lambda: ctx.step("late", one_step, ctx, "late"),
        "map": lambda: ctx.map("late_map", [1], str),
        "transact": lambda: ctx.transact("late_tx", write, ctx.job_id, "late"),
        "transaction": lambda: plain_block(ctx),
        "child": lambda: ctx.submit_child("late", leaf, 1),
        "blob": lambda: ctx.put_blob(b"late"),
    }
    for name, act in writes.items():
        ctx._lost = False  # each write is refused by the database, not by the memory of the first refusal
        try:
            act()
        except ClaimLost:
            note(ctx, f"refused {name}")
        except Exception as error:
            note(ctx, f"wrong {name} {error!r}")
        else:
            note(ctx, f"wrote {name}")
    note(ctx, "end")
    return f"attempt {ctx.attempt}"


# -- maps --------------------------------------------------------------------------------------------------------------


def square(ctx: Context, bad: list[int], pause: float, item: int) -> tuple[int, int]:
    note(ctx, f"begin {item}")
    if ctx.cancelled:
        note(ctx, f"late {item}")
    if pause:
        time.sleep(pause)
    note(ctx, f"finish {item}")
    if item in bad:
        raise ValueError(f"item {item} is bad, and {SECRET} too")
    return (item, item * item)


def mapped(
    ctx: Context, items: list[int], bad: list[int] | None = None, later: list[int] | None = None, failures: int = 0,
    concurrency: int = 8, pause: float = 0.0,
) -> list[Any]:  # fmt: skip
    """`later` is the list from the second attempt on."""
    given = items if ctx.attempt == 1 or later is None else later
    found = ctx.map("sq", given, lambda item: square(ctx, bad or [], pause, item), concurrency=concurrency)
    note(ctx, f"errors {[error.item for error in found.errors]}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    return list(found)


app.job("map_thread", lane="inside", executor="thread", backoff_base=0.05)(mapped)
app.job("map_process", lane="inside", executor="process", backoff_base=0.05)(mapped)


async def asquare(ctx: Context, bad: list[int], pause: float, item: int) -> tuple[int, int]:
    note(ctx, f"begin {item}")
    await asyncio.sleep(pause)
    note(ctx, f"finish {item}")
    if item in bad:
        raise ValueError(f"item {item} is bad, and {SECRET} too")
    return (item, item * item)


@app.job("map_async", lane="inside", backoff_base=0.05)
async def amapped(
    ctx: Context, items: list[int], bad: list[int] | None = None, later: list[int] | None = None, failures: int = 0,
    concurrency: int = 8, pause: float = 0.0,
) -> list[Any]:  # fmt: skip
    given = items if ctx.attempt == 1 or later is None else later
    found = await ctx.amap("sq", given, lambda item: asquare(ctx, bad or [], pause, item), concurrency=concurrency)
    note(ctx, f"errors {[error.item for error in found.errors]}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    return list(found)


@app.job(lane="inside", executor="thread", max_tries=1)
def map_wrong(ctx: Context, concurrency: int) -> None:
    ctx.map("sq", [1], str, concurrency=concurrency)


@app.job(lane="inside", executor="thread")
def map_own_partial(ctx: Context) -> Partial:
    found = ctx.map("sq", [1, 2], lambda item: square(ctx, [2], 0, item))
    return Partial([*found], found.errors)


def throttled_once(ctx: Context, item: int) -> int:
    note(ctx, f"begin {item}")
    if item == 2 and ctx.attempt == 1:
        raise Retryable("later", error_class="throttled", retry_after=0.05)
    return item


@app.job(lane="inside", executor="thread", max_tries=1)
def map_throttled_thread(ctx: Context) -> list[int]:
    return list(ctx.map("item", [1, 2, 3], lambda item: throttled_once(ctx, item), concurrency=1))


@app.job(lane="inside", max_tries=1)
async def map_throttled_async(ctx: Context) -> list[int]:
    return list(await ctx.amap("item", [1, 2, 3], lambda item: throttled_once(ctx, item), concurrency=1))


@app.job(lane="inside", executor="thread", max_tries=1)
def map_effects(ctx: Context) -> int:
    """An exactly-once effect per item, several at a time."""

    def one(item: int) -> str:
        return ctx.transact(f"pay {item}", slow_write, ctx.job_id, str(item))

    return len(ctx.map("pay", range(3), one, concurrency=3))


@app.job(lane="inside")
async def map_lost(ctx: Context) -> str:
    """What an async map raises when the claim is gone."""
    note(ctx, "start")
    if ctx.attempt == 1:
        await await_for(f"zombie-{ctx.job_id}-1")
    try:
        await ctx.amap("sq", [1, 2, 3], str)
    except ClaimLost:
        note(ctx, "refused")
        raise
    except BaseException as error:
        note(ctx, f"wrong {error!r}")
        raise
    return f"attempt {ctx.attempt}"


# -- effects -----------------------------------------------------------------------------------------------------------


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


# -- children ----------------------------------------------------------------------------------------------------------


@app.job(lane="kids", max_tries=1)
async def leaf(ctx: Context, n: int, gate: str = "") -> int:
    if gate:
        note(ctx, "start")
        await await_for(gate)
    if n < 0:
        raise ValueError(f"{n} is negative")
    return n


app.job("leaf_here", lane="inside")(leaf.handler.fn)
app.job("leaf_single", lane="single")(leaf.handler.fn)


@app.job("fails", lane="kids")
async def fails(ctx: Context) -> Fail:
    return Fail("as told")


@app.job(lane="inside", max_tries=1)
async def family(
    ctx: Context, numbers: list[int], on_failure: str = "fail", tolerate: int = 0, gate: str = "", kind: str = "leaf"
) -> Any:
    note(ctx, "start")
    ended = await ctx.achildren()
    if not ended:
        kids = await ctx.asubmit_children("k", app_job(kind), [(n, gate) for n in numbers])
        return Wait(kids, on_failure=on_failure, tolerate=tolerate)  # type: ignore[arg-type]
    return [[child.name, child.status, child.result] for child in ended]


app.job("family_single", lane="single")(family.handler.fn)


def app_job(name: str) -> Any:
    from lanework.job import Job

    return Job(app, app.handlers[name])


def sync_family(ctx: Context, n: int, failures: int = 0) -> Any:
    """Submits in every attempt: the children are the same ones."""
    one = ctx.submit_child("one", leaf, 100)
    many = ctx.submit_children("many", leaf, [{"n": i} for i in range(n)])
    note(ctx, f"children {[one.id, *(child.id for child in many)]}")
    if ctx.tries_used < failures:
        raise ConnectionError("again")
    ended = ctx.children
    if len(ended) < n + 1 or not all(child.status == "completed" for child in ended):
        return Wait([one, *many])
    return sum(child.result for child in ended)


app.job("family_thread", lane="inside", executor="thread", backoff_base=0.05)(sync_family)
app.job("family_process", lane="inside", executor="process", backoff_base=0.05)(sync_family)


@app.job(lane="inside")
async def tree(ctx: Context, depth: int, gate: str = "") -> Any:
    ended = await ctx.achildren()
    if ended:
        return 1 + ended[0].result
    if depth == 0:
        if gate:
            await await_for(gate)
        return 0
    return Wait([await ctx.asubmit_child("down", tree, depth - 1, gate)])


@app.job(lane="inside")
async def spawns(ctx: Context) -> None:
    await ctx.asubmit_children("k", leaf, [(1, "never"), (2, "never")])
    note(ctx, "start")
    await asyncio.sleep(1000)


@app.job(lane="inside", executor="thread", max_tries=1)
def child_options(ctx: Context, option: str) -> Any:
    job = {
        "owner": leaf.options(owner="somebody"), "tags": leaf.options(tags=["a"]), "key": leaf.options(idempotency_key="k"),
        "delay": leaf.options(run_at=timedelta(hours=1)), "plain": leaf.options(), "session": leaf.options(session="of a child"),
        "priority": leaf.options(priority=7),
    }[option]  # fmt: skip
    return ctx.submit_child("c", job, 1).id


@app.job(lane="inside", executor="thread", max_tries=1)
def many_children(ctx: Context, n: int) -> int:
    return len(ctx.submit_children("k", leaf, [{"n": 0}] * n))


def later(job: Any) -> Any:
    """It cannot have ended before somebody waits for it."""
    return job.options(run_at=timedelta(hours=1))


def waits(ctx: Context, same_lane: bool) -> int:
    job = later(leaf_here) if same_lane else leaf
    return int(job.submit(5).result(timeout=90))


app.job("waits_thread", lane="inside", executor="thread", max_tries=1)(waits)
app.job("waits_process", lane="inside", executor="process", max_tries=1)(waits)


@app.job(lane="inside", max_tries=1)
async def waits_async(ctx: Context, same_lane: bool) -> int:
    job = later(leaf_here) if same_lane else leaf
    return int(await (await job.asubmit(5)).aresult(timeout=90))


leaf_here: Any = app_job("leaf_here")


# -- order -------------------------------------------------------------------------------------------------------------


@app.job(lane="inside", backoff_base=0.05)
async def ordered(ctx: Context, key: str, n: int, mode: str = "") -> Any:
    note(ctx, f"begin {key} {n}")
    if mode.startswith("gate"):
        await await_for(mode)
    elif mode == "pause":
        await asyncio.sleep(0.03)
    elif ctx.attempt == 1 and mode == "retry":
        raise ConnectionError("again")
    elif ctx.attempt == 1 and mode == "snooze":
        return Snooze(0.05)
    elif mode == "fail_late":
        raise Retryable("in an hour", retry_after=3600)
    elif mode == "fail":
        return Fail("as told")
    elif mode == "cancel":
        return Cancel("as told")
    elif mode == "wait" and ctx.attempt == 1:
        return Wait([await ctx.asubmit_child("c", leaf, 1)])
    note(ctx, f"end {key} {n}")
    return n


@app.job(lane="inside", executor="thread")
def session_children(ctx: Context, key: str) -> Any:
    if not ctx.children:
        return Wait(ctx.submit_children("c", ordered.options(session=key), [(key, n) for n in range(10)]))
    return len(ctx.children)


# -- continuing --------------------------------------------------------------------------------------------------------


@app.job(lane="inside", executor="thread", max_tries=1)
def chapters(ctx: Context, broken: str = "") -> list[Any]:
    found: list[Any] = []
    for name in ("a", "b", "c"):
        if name == broken:
            raise ValueError(f"{name} is broken")
        found.append(ctx.step(name, one_step, ctx, name))
    found.extend(ctx.map("items", [1, 2], lambda item: one_step(ctx, f"item {item}")))
    found.append(len(ctx.step("big", make_big, ctx)))
    return found


# -- logs --------------------------------------------------------------------------------------------------------------


def talks(ctx: Context) -> str:
    print("one")
    print("two\nlines")
    ctx.log(f"three\nlines {SECRET}")
    sys.stderr.write(f"four {SECRET}\n")
    logging.getLogger("somebody").warning("five %s", SECRET)
    ctx.progress(0.5, f"half of {SECRET}")
    print("six, no end", end="")
    if ctx.tries_used == 0:
        raise ConnectionError(f"lost {SECRET}")
    return "said"


app.job("talks_thread", lane="inside", executor="thread", backoff_base=0.05)(talks)
app.job("talks_process", lane="inside", executor="process", backoff_base=0.05)(talks)


@app.job("talks_async", lane="inside", backoff_base=0.05)
async def atalks(ctx: Context) -> str:
    return talks(ctx)


def learns_a_secret(ctx: Context) -> None:
    """That nobody else has: not the worker, if this is a child process."""
    secret = f"sk-{os.getpid()}-of-job-{ctx.job_id}"
    app.secrets.add(secret)
    print(f"printed {secret}")
    os.write(2, f"written {secret}\n".encode())
    ctx.log(f"logged {secret}")
    ctx.progress(0.5, f"told {secret}", keys=[secret, {"deep": f"a {secret}"}], **{secret: 1})
    raise ValueError(f"raised {secret}")


app.job("learns_thread", lane="inside", executor="thread", max_tries=1)(learns_a_secret)
app.job("learns_process", lane="inside", executor="process", max_tries=1)(learns_a_secret)


@app.job(lane="inside", executor="process")
def says_and_dies(ctx: Context) -> dict[str, int]:
    if ctx.saved is None:
        for n in range(2):
            ctx.log(f"before {n}")
            ctx.checkpoint(n)
        time.sleep(0.5)  # lines are sent a few times a second
        die()
    ctx.log(f"after {ctx.saved}")
    return {"saved": ctx.saved}


@app.job(lane="inside", executor="thread")
def chatters(ctx: Context, lines: int) -> None:
    for n in range(lines):
        ctx.log(f"line {n}")
    print("x" * 50_000)


@app.job(lane="inside", executor="thread", max_tries=1)
def fails_with_secret(ctx: Context) -> Fail:
    return Fail(f"because of {SECRET}")


@app.job(lane="inside", executor="thread", max_tries=1)
def cancels_with_secret(ctx: Context) -> Cancel:
    return Cancel(f"because of {SECRET}")


# -- hooks -------------------------------------------------------------------------------------------------------------

loaded: list[str] = []


@app.hooks.on_start
def load() -> None:
    """Fails as often as the test says, by leaving files for it to use up."""
    failures = sorted(folder().glob("fail-start-*"))
    if failures:
        failures[0].unlink()
        raise RuntimeError("this start fails")
    loaded.append("worker")


@app.hooks.on_child_start
async def load_in_child() -> None:
    failures = sorted(folder().glob("fail-child-*"))
    if failures:
        failures[0].unlink()
        raise RuntimeError("this child's start fails")
    loaded.append("child")


@app.hooks.on_child_stop
def leave_child() -> None:
    with (folder() / "left").open("a") as file:
        file.write(f"{os.getpid()}\n")


def what_is_loaded(ctx: Context) -> list[Any]:
    return [*loaded, os.getpid()]


app.job("loaded_thread", lane="inside", executor="thread")(what_is_loaded)
app.job("loaded_process", lane="inside", executor="process")(what_is_loaded)
