"""Children, and waiting for them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from lanework import Context, Fail, Wait
from tests.inside.jobs.base import app, await_for, note


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
