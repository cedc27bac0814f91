"""A document's status is true at every moment: whatever its job does, or others do to it, and whoever has looked after it since."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest

from kg._store.documents import fold_documents
from kg.documents.document import FINAL, Options
from kg.errors import NotRetryable
from lanework import Retryable
from lanework.testing import adrain
from tests.kg import fakes
from tests.kg.fakes import new, on

#: What a document must say of itself by its job's state.
TRUE = {
    "pending": "estimating", "awaiting_approval": "awaiting_approval", "approved": "queued", "scheduled": "queued",
    "blocked": "queued", "running": "processing", "completed": "completed", "failed": "failed", "cancelled": "cancelled",
}  # fmt: skip


class Watched:
    """One document. `told` are the states that it was seen in, each of them true."""

    def __init__(self, bench: fakes.Bench, database: str, id: int, job: int) -> None:
        self.bench, self.database, self.id, self.job = bench, database, id, job
        self.told: list[str] = []

    async def look(self) -> Any:
        """By its job, by its id, in a list, and the same after maintenance has looked at it: nothing is another."""
        said = await self.bench.documents.show(self.id)
        state = (await self.bench.work.aget(self.job)).status
        assert said.processing_status == TRUE[state], f"the job is {state}, the document says {said.processing_status}"
        for _ in range(2):
            await self.bench.work._arun(fold_documents())
            assert (await self.bench.documents.show(self.id)).processing_status == TRUE[state], f"after maintenance: {state}"
        assert [one.id for one in await self.bench.documents.find(status=[TRUE[state]])] == [self.id]
        assert said.finished == (state in FINAL)
        if said.finished:  # its own words, too
            assert self.one("select processing_status from kg.documents") == said.processing_status
        assert said.error is not None if state == "failed" else said.error is None or state == "cancelled"
        self.told.append(said.processing_status)
        return said

    def one(self, query: str) -> Any:
        with psycopg.connect(self.database, autocommit=True) as conn:
            return conn.execute(query.encode()).fetchall()[0][0]

    def lose(self) -> str:
        """Its process dies with it, alone."""
        next = str(self.one(
            "select s.next from lanework.jobs j cross join lateral lanework.settle("
            "    null, array[j.id], array[j.attempt], array[j.claim_id], array[jsonb_build_object("
            "        'action', 'release', 'uses_try', false, 'loss', true, 'error_class', 'worker_lost', 'error', 'signal 9')]) s"
        ))  # fmt: skip
        self.one("select lanework.hint_behind('interactive')::text")
        return next


def watching(database: str, main: Callable[[Watched], Awaitable[None]], **options: Any) -> None:
    async def run(bench: fakes.Bench) -> None:
        document = (await bench.documents.accept(new(options=Options(**options)))).document
        watched = Watched(bench, database, document.id, document.job_id or 0)
        await watched.look()
        await main(watched)

    on(database, run)


async def held(watched: Watched) -> tuple[asyncio.Event, asyncio.Event]:
    """A chunk is reached, and waits for the gate."""
    gate, reached = asyncio.Event(), asyncio.Event()
    watched.bench.extractor.gates["Leaders"], watched.bench.extractor.reached["Leaders"] = gate, reached
    return gate, reached


def test_a_crash_loop_and_a_redrive(database: str) -> None:
    async def main(watched: Watched) -> None:
        gate, reached = await held(watched)
        async with watched.bench.work.worker():
            for left in (2, 1, 0):
                await reached.wait()
                reached.clear()
                assert (await watched.look()).stage == "extract"
                assert await asyncio.to_thread(watched.lose) == ("approved" if left else "failed")
            assert "crash_loop" in watched.one("select error_class from lanework.jobs_failed")
            assert (await watched.look()).error == "signal 9"
            gate.set()  # the attempts that were lost write nothing any more
        gate.clear()
        reached.clear()
        assert await watched.bench.work.aretry(watched.job, by="grace") == "approved"
        assert (await watched.look()).error is None  # redriven, and nobody works on it yet
        with pytest.raises(NotRetryable, match="is queued"):
            await watched.bench.documents.retry(watched.id, by="ada")
        async with watched.bench.work.worker():
            await reached.wait()
            await watched.look()
            gate.set()
            await watched.bench.work._await(watched.job, 20)
        await watched.look()

    watching(database, main)


@pytest.mark.parametrize("folded", [True, False], ids=["folded", "not folded"])
def test_a_dead_letter_that_is_redriven_and_cancelled(database: str, folded: bool) -> None:
    async def main(watched: Watched) -> None:
        watched.bench.extractor.fails[""] = Retryable("wrong key", error_class="permanent")
        await adrain(watched.bench.work)
        if folded:
            await watched.look()
        await watched.bench.work.aretry(watched.job, by="grace")
        if folded:
            await watched.look()
        await watched.bench.work.acancel(watched.job, by="grace", reason="enough")
        assert (await watched.look()).error == "enough"
        await watched.bench.work.adelete(watched.job)
        assert (await watched.bench.documents.show(watched.id)).processing_status == "cancelled"

    watching(database, main)


def test_a_dead_letter_that_fails_again_says_why_it_failed_now(database: str) -> None:
    async def main(watched: Watched) -> None:
        watched.bench.extractor.fails[""] = Retryable("wrong key", error_class="permanent")
        await adrain(watched.bench.work)
        assert "wrong key" in (await watched.look()).error
        watched.bench.extractor.fails[""] = Retryable("no such model", error_class="permanent")
        await watched.bench.work.aretry(watched.job, by="grace")
        await adrain(watched.bench.work)
        assert "no such model" in (await watched.look()).error
        await watched.bench.work.adelete(watched.job)
        assert "no such model" in ((await watched.bench.documents.show(watched.id)).error or "")

    watching(database, main)


@pytest.mark.parametrize("how", ["reject", "expire", "cancel", "approve"])
def test_what_waits_for_an_approval(database: str, how: str) -> None:
    async def main(watched: Watched) -> None:
        work = watched.bench.work
        await adrain(work)
        await watched.look()
        match how:
            case "reject":
                await work.areject(watched.job, "not now", by="ada")
            case "expire":
                watched.one("update lanework.approval_requests set expires_at = now() - interval '1 s' returning 1")
                watched.one("select lanework.tend_approvals()")
            case "cancel":
                await work.acancel(watched.job, by="ada")
            case "approve":
                await work.aapprove(watched.job, by="ada")
                await watched.look()
                await adrain(work)
        await watched.look()
        assert watched.told[-1] == ("completed" if how == "approve" else "cancelled")

    watching(database, main, ask=True)


def test_cancelled_in_the_middle(database: str) -> None:
    async def main(watched: Watched) -> None:
        _, reached = await held(watched)
        async with watched.bench.work.worker():
            await reached.wait()
            await watched.look()
            await watched.bench.work.acancel(watched.job, by="ada", reason="enough")
            await watched.bench.work._await(watched.job, 20)
        assert (await watched.look()).error == "enough"
        assert watched.told == ["estimating", "processing", "cancelled"]

    watching(database, main)


def test_what_waits_for_another_try_says_so(database: str) -> None:
    async def main(watched: Watched) -> None:
        watched.bench.extractor.fails["Workers"] = Retryable("429", error_class="throttled", retry_after=3600)
        await adrain(watched.bench.work)
        assert (await watched.look()).stage == "waits for another try"
        watched.bench.extractor.fails.clear()
        watched.one("update lanework.jobs set run_at = now() returning 1")
        await adrain(watched.bench.work)
        assert (await watched.look()).chunks_done == 3

    watching(database, main)
