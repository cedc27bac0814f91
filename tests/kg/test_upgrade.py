"""A database that was made and filled by the code of an earlier schema: this code brings it up to date and goes on."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kg._store import schema
from kg._store.schema import prepare
from kg.access.access import Access
from kg.documents.document import New
from kg.documents.documents import Documents
from kg.errors import DocumentNotFound
from kg.graph.deciding import Decisions
from kg.graph.growth import Growth
from kg.graph.reader import Reader
from kg.graph.searching import Mode
from kg.ingest.pipeline import Pipeline
from kg.jobs import ingestion
from kg.ontologies.ontologies import Ontologies
from lanework import Context, Lanework, migrate
from tests.kg.fakes import FakeEmbed, FakeExtractor, FakeWeb, Paragraphs, ask, parse, passages

FIRST = Path(__file__).with_name("landed") / "first.sql"
A = "Lanes have Slots.\n\nWorkers take Jobs."


@pytest.fixture
def landed(empty_database: str, tmp_path: Path) -> str:
    """A database as it was when lanework had 23 migrations and kg 5."""
    with psycopg.connect(empty_database, autocommit=True) as conn:
        for name, folder, last in (("lanework", None, 23), ("kg", schema.FOLDER, 5)):
            place = tmp_path / name
            place.mkdir()
            for one in migrate.load(folder)[:last]:
                (place / one.file).write_text(one.text)
            migrate.apply(conn, schema=name, folder=place)
            shutil.rmtree(place)
        with conn.transaction():
            conn.execute(FIRST.read_bytes())
    return empty_database


class Now:
    """This version, on that database."""

    def __init__(self, dsn: str) -> None:
        self.work = Lanework(dsn, beat=0.2, idle_beat=0.2, sweep=0.2)
        self.extractor, self.embed = FakeExtractor(), FakeEmbed()
        pipeline = Pipeline(parse, Paragraphs(), passages, self.extractor, self.embed, Growth(self.work), fetch=FakeWeb().fetch)
        job = ingestion.declare(self.work, lambda: pipeline)

        @self.work.job(lane="interactive")
        async def add(ctx: Context, a: int, b: int = 2) -> int:
            return a + b

        @self.work.job(lane="interactive", max_tries=1)
        async def broken(ctx: Context) -> str:
            return "mended"

        self.documents = Documents(
            self.work, job, lambda: pipeline, sniff=lambda data, name, declared: declared or "text/plain", size_limit=1_000_000
        )
        self.ontologies = Ontologies(self.work, remove=lambda id, by: self.documents.delete(id, by=by))
        self.reader = Reader(self.work, self.embed)
        prepare(self.work)

    async def ended(self, *jobs: int) -> list[tuple[str, Any]]:
        """Status and result of each, once a worker has done them."""
        async with self.work.worker():
            found = [await self.work._await(job, 60) for job in jobs]
        return [(str(one.status), one.result) for one in found]

    async def statuses(self) -> dict[str, str]:
        return {one.name: one.processing_status for one in await self.documents.find()}

    async def accept(self, text: str, **more: Any) -> tuple[int, int]:
        """Document and job."""
        taken = await self.documents.accept(New(text.encode(), **{"ontology": "manual", "owner": "ada", "name": "x.txt", **more}))
        return taken.document.id, taken.document.job_id or 0


def on(dsn: str, main: Callable[[Now], Awaitable[None]]) -> None:
    now = Now(dsn)

    async def run() -> None:
        async with now.work:
            await main(now)

    asyncio.run(run())


def test_all_that_was_there_is_read(landed: str) -> None:
    async def main(now: Now) -> None:
        assert await now.statuses() == {
            "a.txt": "completed", "b.txt": "completed", "bad.txt": "failed", "dear.txt": "awaiting_approval", "c.txt": "estimating",
        }  # fmt: skip
        assert await now.documents.text(1) == A
        bad = await now.documents.show(3)
        assert (bad.error, bad.duplicate_of) == ("KG-201: there is no text in it", None)
        assert [(str(one.status), one.result) for one in [await now.work.aget(5), await now.work.aget(6)]] == [
            ("completed", 3), ("failed", None),
        ]  # fmt: skip
        assert [group.message for group in await now.work.dead.agroups()] != []
        nightly = await now.work.schedules.aget("nightly")
        assert (nightly.type, nightly.payload, nightly.enabled) == ("add", {"a": 5}, True)
        assert (await now.work.budgets.aget("day")).amount == 10
        assert (await now.work.lanes.aget("interactive")).max_slots == 3  # as an operator had set it, whatever this code says
        secret, _ = await Access(now.work).login("ada", "correct horse", origin="here")
        assert secret
        await _found(now)

    on(landed, main)
    with psycopg.connect(landed, autocommit=True) as conn:
        assert migrate.is_current(conn) and migrate.is_current(conn, schema="kg", folder=schema.FOLDER)
    # the index of this version has all vectors: past a small ontology, nothing else is looked at
    assert ask(landed, "select array_agg(concept_id order by concept_id) from kg.indexed") == [1, 2, 3]
    near = "select array_agg(n.id) from kg.concepts c, kg.find_near('concepts', 'fake-embed', c.embedding::text, null, 1, 40) n"
    assert ask(landed, f"{near} where c.id = 3") == [3]
    assert ask(
        landed,
        "select array_agg(passage_id order by 1) = (select array_agg(id order by 1) from kg.passages) from kg.indexed_passages",
    )
    near = (
        "select array_agg(n.id = p.id) from kg.passages p, kg.find_near('passages', 'fake-embed', p.embedding::text, null, 1, 40) n"
    )
    assert set(ask(landed, near)) == {True}


async def _found(now: Now) -> None:
    modes: tuple[Mode, ...] = ("text", "semantic", "hybrid")
    for mode in modes:
        assert (await now.reader.search("Workers", mode=mode)).concepts[0].label == "Workers"
    assert (await now.reader.passages("take Jobs", mode="text")).passages[0].text == "Workers take Jobs."
    assert (await now.reader.concept(4)).label == "Slots"  # merged into it before
    assert [one.label for one in (await now.reader.related(1)).nodes] == ["Slots", "Workers"]


def test_its_jobs_run_on(landed: str) -> None:
    async def main(now: Now) -> None:
        await now.work.aapprove(9, by="grace")
        assert await now.ended(13, 15, 11, 9) == [
            ("completed", 12), ("completed", 32),  # the second was held by a worker that is gone
            ("completed", {"kept": 0, "chunks": 1, "failed": 0, "version": 1, "document": 5}),
            ("completed", {"kept": 0, "chunks": 1, "failed": 0, "version": 1, "document": 4}),
        ]  # fmt: skip
        assert (await now.work.aget(15)).attempt == 2
        waiting = await now.work.aget(14)
        assert str(waiting.status) == "scheduled" and waiting.run_at is not None
        assert waiting.run_at - waiting.created_at == timedelta(hours=2)
        assert (await now.statuses()) == {
            "a.txt": "completed", "b.txt": "completed", "bad.txt": "failed", "dear.txt": "completed", "c.txt": "completed",
        }  # fmt: skip
        assert set(now.extractor.calls) == {
            "Leaders sweep Lanes.",
            "Leaders are Workers.",
        }  # what was read before is not read again
        await now.work.aretry(6, by="ada")
        await now.documents.retry(3, by="ada")
        assert (await now.ended(6))[0] == ("completed", "mended")
        tick = await now.work.schedules.arun_now("nightly")
        assert await now.ended(tick.job_id or 0) == [("completed", 7)]

    on(landed, main)


def test_its_documents_are_edited_and_its_decisions_undone(landed: str) -> None:
    async def main(now: Now) -> None:
        edited = A.replace("take Jobs", "take many Jobs")
        document, job = await now.accept(edited, key="notes/a.txt", name="a.txt")
        await now.ended(job)
        shown = await now.documents.show(document)
        assert (document, shown.version, shown.processing_status, shown.chunks_done) == (1, 2, "completed", 2)
        assert now.extractor.calls["Workers take many Jobs."] == 1 and "Lanes have Slots.\n\n" not in now.extractor.calls
        assert (await now.accept("Slots wait for Workers."))[0] == 2  # what was there is known by its content
        await Decisions(now.work).undo(1, by="ada")
        assert (await now.reader.concept(4)).label == "Jobs"  # it has its number back

    on(landed, main)


def test_its_documents_are_deleted(landed: str) -> None:
    async def main(now: Now) -> None:
        await now.documents.delete(2, by="ada")
        assert [one.id for one in (await now.reader.search("Slots", mode="text")).concepts] == [2]
        for document in (1, 3, 4, 5):
            await now.documents.delete(document, by="ada")
        with pytest.raises(DocumentNotFound):
            await now.documents.show(1)
        assert await now.statuses() == {}
        await now.ended(13)

    on(landed, main)
    for table in ("concepts", "names", "relations", "claims", "mentions", "sources", "passages", "indexed", "indexed_passages"):
        assert ask(landed, f"select count(*) from kg.{table}") == 0, table
