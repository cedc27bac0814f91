"""What a handler can do, for the type checkers: results keep their types, calls that are wrong are refused. Nothing here runs.

Both checkers report an ignore that hides nothing, so each refused line is a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

import psycopg

from lanework import Context, Partial, Wait
from lanework._children import ChildHandle, ChildResult
from lanework._mapping import Mapped
from lanework._transactions import AsyncTransaction, Transaction
from lanework.job import Declares, Handle, Job
from lanework.outcomes import Finished, ItemError


@dataclass
class Page:
    n: int


def fetch(url: str, *, timeout: float = 1.0) -> Page:
    return Page(1)


async def afetch(url: str) -> Page:
    return Page(1)


def pay(db: psycopg.Connection[Any], cents: int) -> str:
    return ""


async def apay(db: psycopg.AsyncConnection[Any], cents: int) -> str:
    return ""


def steps(ctx: Context) -> None:
    assert_type(ctx.step("fetch", fetch, "u"), Page)
    assert_type(ctx.step("fetch", fetch, "u", timeout=2), Page)
    assert_type(ctx.step("plain", lambda: 5), int)
    ctx.step("fetch", fetch)  # type: ignore[call-arg]
    ctx.step("fetch", fetch, 5)  # type: ignore[arg-type]
    ctx.step("fetch", fetch, "u", timeuot=2)  # type: ignore[call-arg]
    wrong: str = ctx.step("fetch", fetch, "u")  # type: ignore[assignment]
    wrong.upper()


def maps(ctx: Context, urls: list[str]) -> None:
    found = ctx.map("pages", urls, fetch, concurrency=4)
    assert_type(found, Mapped[Page])
    assert_type([page.n for page in found], list[int])
    assert_type(found.errors, list[ItemError])
    ctx.map("pages", [1, 2], fetch)  # type: ignore[arg-type]


def effects(ctx: Context) -> Finished:
    assert_type(ctx.transact("pay", pay, 5), str)
    ctx.transact("pay", pay)  # type: ignore[call-arg]
    ctx.transact("pay", pay, "5")  # type: ignore[arg-type]
    ctx.transact("pay", fetch, "u")  # type: ignore[arg-type, call-arg]
    with ctx.transaction(timeout=5) as tx:
        assert_type(tx, Transaction)
        assert_type(tx.connection, psycopg.Connection[Any])
        assert_type(tx.finish({"n": 1}), Finished)
    assert_type(ctx.idempotency_key("pay"), str)
    assert_type(ctx.put_blob(b""), str)
    return Finished()


async def twins(ctx: Context, urls: list[str]) -> None:
    assert_type(await ctx.astep("fetch", afetch, "u"), Page)
    assert_type(await ctx.astep("fetch", fetch, "u", timeout=2), Page)
    assert_type(await ctx.amap("pages", urls, afetch), Mapped[Page])
    assert_type(await ctx.amap("pages", urls, fetch), Mapped[Page])
    assert_type(await ctx.atransact("pay", apay, 5), str)
    await ctx.atransact("pay", apay, "5")  # type: ignore[arg-type]
    await ctx.atransact("pay", pay, 5)  # type: ignore[arg-type]
    async with ctx.atransaction() as tx:
        assert_type(tx, AsyncTransaction)
        assert_type(await tx.finish(), Finished)


def children(app: Declares) -> None:
    @app.job
    async def page(ctx: Context, n: int, deep: bool = False) -> str:
        return ""

    @app.job
    def book(ctx: Context, title: str) -> int | Wait | Partial:
        assert_type(ctx.submit_child("p", page, 1), ChildHandle)
        assert_type(ctx.submit_child("p", page.options(priority=3), 1, deep=True), ChildHandle)
        assert_type(ctx.submit_children("p", page, [(1,), {"n": 2}]), list[ChildHandle])
        assert_type(ctx.children, list[ChildResult])
        ctx.submit_child("p", page)  # type: ignore[call-arg]
        ctx.submit_child("p", page, "1")  # type: ignore[arg-type]
        ctx.submit_child("p", page, 1, deeep=True)  # type: ignore[call-arg]
        ctx.submit_child("p", fetch, "u")  # type: ignore[arg-type]
        return Wait([ctx.submit_child("p", page, 1)], on_failure="continue")

    @app.job
    async def block(ctx: Context) -> Finished | dict[str, int]:
        async with ctx.atransaction() as tx:
            return await tx.finish({"n": 1})

    called: Job[[str], int] = book
    assert_type(called.submit("t"), Handle[int])
    assert_type(book.submit("t"), Handle[int])
    assert_type(block.options(session="s", continues=5, from_step="a").submit(), Handle[dict[str, int]])
    Wait([], on_failure="ignore")  # type: ignore[arg-type]
    book.options(session=5)  # type: ignore[arg-type]

    async def achildren(ctx: Context) -> None:
        assert_type(await ctx.asubmit_child("p", page, 1), ChildHandle)
        assert_type(await ctx.achildren(), list[ChildResult])
        await ctx.asubmit_child("p", page, "1")  # type: ignore[arg-type]
