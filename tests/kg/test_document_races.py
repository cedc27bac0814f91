"""Several at the same moment: the same content from many callers, an attempt that was superseded, two versions, a delete while
others are read."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from kg.documents.document import Options
from kg.errors import DocumentNotFound
from kg.graph.growth import Growth
from kg.ingest.reading import Reader
from lanework import Retryable
from lanework.errors import ClaimLost
from lanework.testing import adrain
from tests.kg import fakes
from tests.kg.fakes import TEXT, ask, graph, new, on
from tests.kg.graphs import PARTS

CALLERS = 8


async def at_once(bench: fakes.Bench, **more: Any) -> list[Any]:
    return await asyncio.gather(*(bench.documents.accept(new(**more)) for _ in range(CALLERS)))


def gated(bench: fakes.Bench, word: str) -> tuple[asyncio.Event, asyncio.Event]:
    """Chunks with the word wait for the first, and have set the second."""
    gate, reached = asyncio.Event(), asyncio.Event()
    bench.extractor.gates[word], bench.extractor.reached[word] = gate, reached
    return gate, reached


# -- the same content


@pytest.mark.parametrize("state", ["estimating", "awaiting_approval", "processing", "completed", "partial", "failed", "cancelled"])
def test_many_submits_at_once_are_one_document_in_every_state(database: str, state: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        gate, reached = gated(bench, "Leaders")
        options = Options(ask=state == "awaiting_approval")
        first = (await bench.documents.accept(new(options=options))).document
        if state == "partial":
            bench.extractor.fails["Workers"] = ValueError("no JSON in it")
        elif state == "failed":
            bench.extractor.fails[""] = Retryable("wrong key", error_class="permanent")
        elif state == "cancelled":
            await bench.work.acancel(first.job_id or 0, by="ada")
        if state != "processing":
            gate.set()
        if state in ("estimating", "cancelled"):
            await all_the_same(bench)
        elif state == "processing":
            async with bench.work.worker():
                await reached.wait()
                await all_the_same(bench)
                gate.set()
                await bench.work._await(first.job_id or 0, 20)
        else:
            await adrain(bench.work)
            await all_the_same(bench)

    async def all_the_same(bench: fakes.Bench) -> None:
        [there] = await bench.documents.find()
        assert there.processing_status == state
        taken = await at_once(bench, key="elsewhere")
        assert {(one.existing, one.document.id, one.document.job_id) for one in taken} == {(True, there.id, there.job_id)}
        assert len(await bench.work.alist(type="ingestion")) == 1

    on(database, main)
    assert ask(database, "select count(*) from kg.documents") == 1


def test_submits_while_it_is_deleted_are_at_most_one_new_document(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        for _ in range(2):
            old = (await bench.documents.accept(new())).document
            await adrain(bench.work)
            taken, _ = await asyncio.gather(at_once_or_gone(bench), bench.documents.delete(old.id, by="ada"))
            fresh = {one.document.id for one in taken if not one.existing}
            left = {one.id for one in await bench.documents.find()}
            assert left == fresh and len(fresh) <= 1
            assert all(one.document.id in fresh for one in taken if one.document.id != old.id)
            again = await at_once(bench)
            assert len({one.document.id for one in again}) == 1
            assert sum(not one.existing for one in again) == (0 if fresh else 1)
            await adrain(bench.work)
            [there] = await bench.documents.find()
            assert (there.processing_status, there.chunks_done) == ("completed", 3)
            assert len(graph(database)) == 5
            await bench.documents.delete(there.id, by="ada")

    async def at_once_or_gone(bench: fakes.Bench) -> list[Any]:
        """One that was there is deleted before it can be shown."""
        taken = await asyncio.gather(*(bench.documents.accept(new()) for _ in range(CALLERS)), return_exceptions=True)
        assert all(not isinstance(one, BaseException) or isinstance(one, DocumentNotFound) for one in taken), taken
        return [one for one in taken if not isinstance(one, BaseException)]

    on(database, main)
    assert ask(database, "select count(*) from kg.documents") == 0
    assert graph(database) == []


def test_many_contents_under_one_key_at_once_are_versions_of_one_document(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        contents = [f"{TEXT} Number {n}." for n in range(CALLERS)]
        taken = await asyncio.gather(*(bench.documents.accept(new(text, key="k")) for text in contents))
        assert len({one.document.id for one in taken}) == 1
        await adrain(bench.work)
        [there] = await bench.documents.find()
        assert (there.version, there.processing_status, there.chunks_done) == (CALLERS, "completed", 3)
        assert await bench.documents.text(there.id) in contents
        jobs = await bench.work.alist(type="ingestion", limit=50)
        assert sorted(one.status for one in jobs) == ["cancelled"] * (CALLERS - 1) + ["completed"]

    on(database, main)
    assert ask(database, "select count(*) from kg.sources") == 3


@pytest.mark.parametrize("column", ["hash", "key"])
def test_an_index_decides_and_no_look_before(database: str, column: str) -> None:
    """Rows that come past the service, too: a restore, an operator, the next version of this code."""

    async def main(bench: fakes.Bench) -> None:
        await bench.documents.accept(new(key="k"))

    on(database, main)
    other = {"hash": "'other'", "key": "sha256('other')"}[column]
    columns = {"hash": "hash, 'other'", "key": f"{other}, key"}[column]
    with psycopg.connect(database) as conn, pytest.raises(psycopg.errors.UniqueViolation):
        conn.execute("insert into kg.blobs (hash, data) values (sha256('other'), '')")
        conn.execute(
            "insert into kg.documents (ontology_id, hash, key, name, media_type, size)"
            f" select ontology_id, {columns}, name, media_type, size from kg.documents".encode()
        )


# -- who may write


def take_over(database: str) -> None:
    """Its worker is said to be lost: whatever runs is somebody else's now."""
    with psycopg.connect(database, autocommit=True) as conn:
        conn.execute(
            "select lanework.settle(null, array[j.id], array[j.attempt], array[j.claim_id],"
            """ array['{"action": "release", "error_class": "worker_lost"}'::jsonb]) from lanework.jobs j"""
        )


class Takeover(fakes.FakeGraph):
    """Once, a job is given away when it has an answer and is about to store the chunk. Its worker has not heard of it."""

    def __init__(self, database: str, word: str) -> None:
        super().__init__()
        self.database, self.word = database, word

    async def storing(self, embed: Any, ontology: int, space: int, extraction: Any, act: Any) -> Any:
        if self.word and any(one.label == self.word for one in extraction.concepts):
            self.word = ""
            take_over(self.database)
        return await act({})


def test_what_a_superseded_attempt_writes_is_refused(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        document = (await bench.documents.accept(new())).document
        async with bench.work.worker():
            done = await bench.work._await(document.job_id or 0, 30)
        assert (done.status, done.attempt) == ("completed", 2)
        assert done.result["kept"] < 3, "the first attempt has stored the chunk"
        assert bench.extractor.calls["Leaders sweep."] == 1  # its answer was stored before
        assert (await bench.documents.show(document.id)).chunks_done == 3

    on(database, main, grows=lambda _: Takeover(database, "Leaders"), chunks_at_once=1, beat=8, idle_beat=8)
    assert len(graph(database)) == 5


def test_a_superseded_attempt_does_not_say_where_its_document_is(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals: list[str] = []
    parse = Reader._parse

    async def late(self: Reader) -> Any:
        if not refusals:
            refusals.append("")
            take_over(database)
            with pytest.raises(ClaimLost) as refused:
                await parse(self)
            refusals.append(str(refused.value))
            assert ask(database, "select processing_status || stage from kg.documents") == "queued", "as it was taken in"
            raise refused.value
        return await parse(self)

    async def main(bench: fakes.Bench) -> None:
        document = (await bench.documents.accept(new())).document
        async with bench.work.worker():
            assert (await bench.work._await(document.job_id or 0, 30)).status == "completed"

    monkeypatch.setattr(Reader, "_parse", late)
    on(database, main, beat=8, idle_beat=8)
    assert "the stage of its document was refused" in refusals[1]


def test_an_older_version_that_nobody_has_stopped_writes_nothing(database: str) -> None:
    """A dead letter is redriven, and its document is run again, too: a new version stops the job that the document knows of."""

    async def main(bench: fakes.Bench) -> None:
        bench.extractor.fails[""] = Retryable("wrong key", error_class="permanent")
        first = (await bench.documents.accept(new(key="k"))).document
        await adrain(bench.work)
        again = await bench.documents.retry(first.id, by="ada")
        await bench.work.aretry(first.job_id or 0, by="grace")
        bench.extractor.fails.clear()
        gate, reached = gated(bench, "s")
        async with bench.work.worker():
            await reached.wait()
            running = [one.id for one in await bench.work.alist(type="ingestion", status="running")]
            assert running == [first.job_id] != [again.job_id]  # one at a time for a document
            second = (await bench.documents.accept(new("Other Words.", key="k", options=Options(ask=True)))).document
            gate.set()
            old = await bench.work._await(first.job_id or 0, 20)
            assert old.status == "cancelled"
            # the new version waits for somebody: nobody has tidied up after the old one
            assert (ask(database, "select count(*) from kg.sources"), graph(database)) == (0, [])
            assert (await bench.documents.show(first.id)).chunks_done == 0
            while (await bench.documents.show(first.id)).processing_status != "awaiting_approval":
                await asyncio.sleep(0.01)
            await bench.work.aapprove(second.job_id or 0, by="ada")
            assert (await bench.work._await(second.job_id or 0, 20)).status == "completed"

    on(database, main)
    assert [word for word, _ in graph(database)] == ["Other", "Words"]


# -- deletes while others are read


KEPT = "Lanes have Rows.\n\nWorkers take Jobs.\n\nLeaders sweep Lanes."
GONE = "Lanes have Slots.\n\nLanes feed Workers.\n\nSlots need Jobs."


@pytest.mark.parametrize("when", ["before its first chunk", "between two chunks", "at the same moment"])
def test_a_delete_leaves_what_a_document_that_is_being_read_supports(database: str, when: str) -> None:
    """In the end the graph is that of an ontology where the one that was deleted has never been."""

    async def main(bench: fakes.Bench) -> None:
        gone = (await bench.documents.accept(new(GONE, name="gone.txt"))).document
        await bench.documents.accept(new(KEPT, ontology="alone"))
        await adrain(bench.work)
        gate, reached = gated(bench, "Leaders" if when != "before its first chunk" else "s")
        kept = (await bench.documents.accept(new(KEPT))).document
        async with bench.work.worker():
            await reached.wait()
            while when != "before its first chunk" and (await bench.documents.show(kept.id)).chunks_done < 2:
                await asyncio.sleep(0.01)
            if when == "at the same moment":
                gate.set()
            await bench.documents.delete(gone.id, by="ada")
            gate.set()
            assert (await bench.work._await(kept.job_id or 0, 20)).status == "completed"

    on(database, main, grows=Growth)
    found, alone = library(database, "manual"), library(database, "alone")
    assert {row[1] for row in alone["concepts"]} >= {"Lanes", "Rows", "Workers", "Jobs", "Leaders"} and alone["relations"]
    for part in alone:
        assert found[part] == alone[part], part


def library(database: str, ontology: str) -> dict[str, Any]:
    with psycopg.connect(database, autocommit=True) as conn:
        (of,) = conn.execute("select id from kg.ontologies where name = %s", [ontology]).fetchall()[0]
        return {part: sorted(conn.execute(query, {"o": of}).fetchall(), key=repr) for part, query in PARTS.items()}


# -- what is paid

REFUSING = """create function refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$;
create trigger refuse before insert on fake_graph for each row when (new.word = 'Workers') execute function refuse()"""


def test_a_retry_pays_for_nothing_that_had_an_answer(database: str) -> None:
    """Not for a chunk that is stored, and not for one that was read and could not be stored."""

    async def main(bench: fakes.Bench) -> None:
        bench.extractor.fails["Leaders"] = ValueError("no JSON in it")
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute(REFUSING)
        document = (await bench.documents.accept(new())).document
        await adrain(bench.work)
        partial = await bench.documents.show(document.id)
        assert (partial.processing_status, partial.chunks_done, partial.chunks_failed) == ("partial", 1, 2)
        with psycopg.connect(database, autocommit=True) as conn:
            conn.execute("drop trigger refuse on fake_graph")
        bench.extractor.fails.clear()
        await bench.documents.retry(document.id, by="ada")
        await adrain(bench.work)
        assert (await bench.documents.show(document.id)).processing_status == "completed"
        assert bench.extractor.calls == {"Lanes have Slots.\n\n": 1, "Workers take Jobs.\n\n": 1, "Leaders sweep.": 2}
        assert set(bench.embed.texts.values()) == {1}

    on(database, main)
    assert len(graph(database)) == 5


def test_many_refusals_delay_a_document_and_use_no_try(database: str) -> None:
    """However many there are, and whichever chunk they meet: the others are not paid again."""

    async def main(bench: fakes.Bench) -> None:
        document = (await bench.documents.accept(new())).document
        for word in ("Lanes", "Workers", "s"):
            bench.extractor.fails = {word: Retryable("429", error_class="throttled", retry_after=3600)}
            await adrain(bench.work)
            job = await bench.work.aget(document.job_id or 0)
            assert (job.status, job.tries_used) == ("scheduled", 0) or job.status == "completed"
            ask(database, "update lanework.jobs set run_at = now() returning 1")
        bench.extractor.fails = {}
        await adrain(bench.work)
        assert (await bench.documents.show(document.id)).processing_status == "completed"

    on(database, main)
    assert len(graph(database)) == 5
