"""Steps, and what is stored of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from lanework import ClaimLost, Context, Estimate
from tests.inside.jobs.base import app, note, wait_for
from tests.inside.jobs.children import leaf
from tests.inside.jobs.effects import plain_block, write


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
