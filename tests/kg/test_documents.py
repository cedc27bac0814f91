"""Documents: accepted once, run, replaced, deleted; their status is true at every moment."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from kg._store.documents import fold_documents
from kg.documents.document import Options
from kg.errors import DocumentNotFound, InvalidDocument, ModelAway, NotRetryable, OntologyFrozen
from kg.ingest.answers import StoredEmbed
from kg.parts import Chunk, Extraction, Known
from lanework import Retryable
from lanework.testing import adrain
from tests.kg import fakes
from tests.kg.fakes import TEXT, ask, graph, new, on
from tests.pace import bound


def test_a_document_goes_through(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        taken = await bench.documents.accept(new())
        assert not taken.existing and taken.document.processing_status == "estimating"
        await adrain(bench.work)
        done = await bench.documents.show(taken.document.id)
        assert (done.processing_status, done.stage, done.chunks, done.chunks_done, done.chunks_failed) == ("completed", "", 3, 3, 0)
        assert done.title == "Lanes have Slots." and await bench.documents.text(done.id) == TEXT
        assert bench.work.settings and (await bench.work.aget(done.job_id or 0)).result == {
            "document": done.id, "version": 1, "chunks": 3, "kept": 0, "failed": 0,
        }  # fmt: skip

    on(database, main)
    assert graph(database) == [("Jobs", 32), ("Lanes", 0), ("Leaders", 39), ("Slots", 11), ("Workers", 19)]
    assert ask(database, "select count(*) from kg.passages where embedding is not null and space is not null") == 3
    assert ask(database, "select array_agg(kind order by epoch) from kg.epochs") == ["ingestion"]


def test_twenty_submits_at_once_are_one_document_and_one_job(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        taken = await asyncio.gather(*(bench.documents.accept(new()) for _ in range(20)))
        assert len({one.document.id for one in taken}) == 1
        assert sorted(one.existing for one in taken) == [False] + [True] * 19
        assert len(await bench.work.alist(type="ingestion")) == 1

    on(database, main)
    assert ask(database, "select count(*) from kg.documents") == 1


@pytest.mark.parametrize("state", ["estimating", "completed", "cancelled", "failed"])
def test_the_same_content_is_the_same_document_in_every_state(database: str, state: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        text = "unreadable" if state == "failed" else TEXT
        first = (await bench.documents.accept(new(text))).document
        if state == "cancelled":
            await bench.work.acancel(first.job_id or 0, by="ada")
        elif state != "estimating":
            await adrain(bench.work)
        again = await bench.documents.accept(new(text, name="b.txt", key="elsewhere"))
        assert again.existing and (again.document.id, again.document.job_id) == (first.id, first.job_id)
        assert again.document.processing_status == state
        other = await bench.documents.accept(new(text, ontology="other"))
        assert not other.existing and other.document.id != first.id

    on(database, main)


def test_an_edit_pays_only_for_what_changed(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        await bench.documents.accept(new(key="k"))
        await adrain(bench.work)
        paid, embedded = dict(bench.extractor.calls), dict(bench.embed.texts)
        edited = TEXT.replace("Workers take Jobs.", "Workers take many more Jobs.")
        taken = await bench.documents.accept(new(edited, key="k"))
        assert not taken.existing and (taken.document.version, taken.document.processing_status) == (2, "estimating")
        await adrain(bench.work)
        assert bench.extractor.calls - Counter(paid) == {"Workers take many more Jobs.\n\n": 1}
        assert bench.embed.texts - Counter(embedded) == {"Workers take many more Jobs.\n\n": 1}
        assert (await bench.documents.show(taken.document.id)).chunks_done == 3
        assert await bench.documents.text(taken.document.id) == edited

    on(database, main)
    words = graph(database)
    assert [word for word, _ in words] == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"]
    assert ask(database, "select count(*) from kg.documents") == 1
    places = ask(database, "select array_agg(array[ordinal, start, finish] order by ordinal) from kg.sources")
    assert places == [[0, 0, 19], [1, 19, 49], [2, 49, 63]]
    # what stayed has moved with its text
    assert ask(database, "select array_agg(start order by start) from kg.passages") == [0, 19, 49]


def test_force_does_everything_again(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        await bench.documents.accept(new())
        await adrain(bench.work)
        taken = await bench.documents.accept(new(force=True))
        assert not taken.existing and taken.document.version == 2
        await adrain(bench.work)
        assert set(bench.extractor.calls.values()) == {2}
        assert (await bench.documents.show(taken.document.id)).processing_status == "completed"

    on(database, main)
    assert len(graph(database)) == 5


def test_partial_and_the_rest_again(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        bench.extractor.fails["Workers"] = ValueError("no JSON in it")
        taken = await bench.documents.accept(new())
        await adrain(bench.work)
        partial = await bench.documents.show(taken.document.id)
        assert (partial.processing_status, partial.chunks_done, partial.chunks_failed) == ("partial", 2, 1)
        assert partial.error == "1 of 3 chunks failed; the first: ValueError: no JSON in it"
        [error] = await bench.work.aitem_errors(partial.job_id or 0)
        assert (error.item, error.error) == ("chunk 1", "ValueError: no JSON in it")
        assert (await bench.work.aget(partial.job_id or 0)).partial
        bench.extractor.fails.clear()
        again = await bench.documents.retry(partial.id, by="ada")
        assert again.processing_status in ("estimating", "queued") and again.job_id != partial.job_id
        await adrain(bench.work)
        done = await bench.documents.show(partial.id)
        assert (done.processing_status, done.chunks_done, done.chunks_failed, done.error) == ("completed", 3, 0, None)
        assert bench.extractor.calls == {"Lanes have Slots.\n\n": 1, "Workers take Jobs.\n\n": 2, "Leaders sweep.": 1}
        with pytest.raises(NotRetryable, match="is completed"):
            await bench.documents.retry(partial.id, by="ada")

    on(database, main)
    assert len(graph(database)) == 5


def test_a_throttled_chunk_delays_its_document_and_never_fails_it(database: str) -> None:
    """The last one: what has not begun when a limit is met is left for later."""

    async def main(bench: fakes.Bench) -> None:
        bench.extractor.fails["Leaders"] = Retryable("429", error_class="throttled", retry_after=0.05)
        taken = await bench.documents.accept(new())
        await adrain(bench.work)
        waiting = await bench.documents.show(taken.document.id)
        assert waiting.processing_status == "queued" and 1 <= waiting.chunks_done < 3  # none is begun after it
        job = await bench.work.aget(waiting.job_id or 0)
        assert job.tries_used == 0
        bench.extractor.fails.clear()
        async with bench.work.worker():
            await bench.work._await(job.id, 20)
        assert (await bench.documents.show(waiting.id)).processing_status == "completed"

    on(database, main)
    assert len(graph(database)) == 5


def test_when_no_chunk_can_be_done_the_job_fails(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        bench.extractor.fails[""] = Retryable("wrong key", error_class="permanent")
        taken = await bench.documents.accept(new())
        await adrain(bench.work)
        failed = await bench.documents.show(taken.document.id)
        assert failed.processing_status == "failed" and "wrong key" in (failed.error or "")

    on(database, main)


def test_unreadable_bytes_are_one_failed_job_and_parsed_once(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        taken = await bench.documents.accept(new("unreadable rubbish"))
        await adrain(bench.work)
        failed = await bench.documents.show(taken.document.id)
        assert (failed.processing_status, failed.error) == ("failed", "KG-201: there is no text in it")
        job = await bench.work.aget(failed.job_id or 0)
        assert (job.error_class, job.attempt) == ("invalid_input", 1)

    on(database, main)


@pytest.mark.parametrize("how", ["cancel", "reject", "expire"])
def test_the_status_is_true_when_a_job_ends_without_its_handler(database: str, how: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        taken = await bench.documents.accept(new(options=Options(ask=how != "cancel")))
        id, job = taken.document.id, taken.document.job_id or 0
        if how != "cancel":
            await adrain(bench.work)
            assert (await bench.documents.show(id)).processing_status == "awaiting_approval"
            why = (await bench.work.aget(job)).approval_request
            assert why is not None and "wants it to be approved" in why.why
        match how:
            case "cancel":
                await bench.work.acancel(job, by="ada")
            case "reject":
                await bench.work.areject(job, "not now", by="ada")
            case "expire":
                ask(database, "update lanework.approval_requests set expires_at = now() - interval '1 s' returning 1")
                ask(database, "select lanework.tend_approvals()")
        shown = await bench.documents.show(id)
        assert shown.processing_status == "cancelled"
        assert [one.id for one in await bench.documents.find(status=["cancelled"])] == [id]
        await bench.work._arun(fold_documents())
        assert ask(database, "select processing_status from kg.documents") == "cancelled"
        again = await bench.documents.retry(id, by="ada")
        assert not again.finished

    on(database, main)


def test_an_approved_document_goes_on(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        bench.extractor.price = 0.5
        cheap = (await bench.documents.accept(new("One."))).document
        dear = (await bench.documents.accept(new())).document
        await adrain(bench.work)
        assert (await bench.documents.show(cheap.id)).processing_status == "completed"
        assert (await bench.documents.show(dear.id)).processing_status == "awaiting_approval"
        estimate = (await bench.work.aget(dear.job_id or 0)).estimate
        assert estimate is not None and (estimate.low, estimate.high, estimate.items) == (0.75, 1.5, 3)
        await bench.work.aapprove(dear.job_id or 0, by="grace")
        await adrain(bench.work)
        assert (await bench.documents.show(dear.id)).processing_status == "completed"

    on(database, main)


def test_deleting_while_it_runs(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        other = (await bench.documents.accept(new("Lanes are Rows."))).document
        await adrain(bench.work)
        gate, reached = asyncio.Event(), asyncio.Event()
        bench.extractor.gates["Leaders"], bench.extractor.reached["Leaders"] = gate, reached
        id = (await bench.documents.accept(new())).document.id
        async with bench.work.worker():
            await reached.wait()
            while (await bench.documents.show(id)).chunks_done < 2:
                await asyncio.sleep(0.01)
            job = (await bench.documents.show(id)).job_id or 0
            await bench.documents.delete(id, by="ada")
            gate.set()
            assert (await bench.work._await(job, 20)).status == "cancelled"
        with pytest.raises(DocumentNotFound):
            await bench.documents.show(id)
        assert (await bench.documents.show(other.id)).processing_status == "completed"

    on(database, main)
    assert [word for word, _ in graph(database)] == ["Lanes", "Rows"]
    assert ask(database, "select count(*) from kg.blobs") == 1  # its text is its bytes
    assert ask(database, "select count(*) from lanework.audit_log where act = 'document.delete'") == 1


def test_a_new_version_stops_the_old_one(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        gate, reached = asyncio.Event(), asyncio.Event()
        bench.extractor.gates["Leaders"], bench.extractor.reached["Leaders"] = gate, reached
        first = (await bench.documents.accept(new(key="k"))).document
        async with bench.work.worker():
            await reached.wait()
            second = (await bench.documents.accept(new("Other Words.", key="k"))).document
            gate.set()
            assert (await bench.work._await(first.job_id or 0, 20)).status == "cancelled"
            assert (await bench.work._await(second.job_id or 0, 20)).status == "completed"
        assert (await bench.documents.show(first.id)).version == 2

    on(database, main)
    assert [word for word, _ in graph(database)] == ["Other", "Words"]


def test_without_a_graph_passages_go_to_a_collection(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        id = (await bench.documents.accept(new(options=Options(graph=False)))).document.id
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed" and not bench.extractor.calls
        await bench.documents.accept(new(options=Options(graph=True), force=True))
        await adrain(bench.work)

    on(database, main)
    assert ask(database, "select count(*) from kg.items") == 0  # the second version has a graph
    assert len(graph(database)) == 5


def test_items_of_a_collection(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        await bench.documents.accept(new(options=Options(graph=False, collection="notes")))
        await adrain(bench.work)

    on(database, main)
    assert ask(database, "select array_agg(text order by (meta->>'start')::int) from kg.items where collection = 'notes'") == [
        "Lanes have Slots.\n\n", "Workers take Jobs.\n\n", "Leaders sweep.",
    ]  # fmt: skip
    assert graph(database) == []


def test_equal_chunks_are_read_once_and_kept_apart(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        await bench.documents.accept(new("Same.\n\nSame.\n\nEnd."))
        await adrain(bench.work)
        assert bench.extractor.calls == {"Same.\n\n": 1, "End.": 1}

    on(database, main)
    assert graph(database) == [("End", 14), ("Same", 0), ("Same", 7)]


class Overlapping:
    """Two chunks with one text, of which the second has less of its own."""

    def chunks(self, text: str) -> list[Chunk]:
        return [Chunk(0, 0, 0, 11, text[:11]), Chunk(1, 11, 17, 22, text[11:])]


def test_equal_texts_with_other_parts_of_their_own_are_read_once(database: str) -> None:
    """Seen red: known by their hashes the two are asked for under one name, which is refused as the same step twice."""

    async def main(bench: fakes.Bench) -> None:
        taken = await bench.documents.accept(new("Same words." * 2))
        await adrain(bench.work)
        done = await bench.documents.show(taken.document.id)
        assert (done.processing_status, done.chunks_done) == ("completed", 2)
        assert bench.extractor.calls == {"Same words.": 1}
        assert bench.embed.texts == {"Same words.": 1, "ords.": 1}

    on(database, main, chunker=Overlapping())


def test_a_model_reads_on_while_chunks_wait_to_be_stored(database: str) -> None:
    """Two are read at a time, and two wait to be stored: it reads no further ahead. Seen red: with chunks that are stored by who
    has read them, the third is not read before the first is stored; without the limit all are."""
    text = "\n\n".join(f"Part{n}." for n in range(9))

    async def main(bench: fakes.Bench) -> None:
        bench.graph.gate.clear()
        ahead: list[int] = []
        read = bench.extractor.extract

        async def extract(text: str, *, known: Sequence[Known] = ()) -> Extraction:
            found = await read(text, known=known)
            ahead.append(bench.extractor.calls.total() - bench.graph.stored)
            if bench.extractor.calls.total() == 4:
                bench.graph.gate.set()
            return found

        bench.extractor.extract = extract  # type: ignore[method-assign]
        taken = await bench.documents.accept(new(text))
        async with asyncio.timeout(bound(20)):
            await adrain(bench.work)
        assert (await bench.documents.show(taken.document.id)).processing_status == "completed"
        assert 4 <= max(ahead) <= 5, "one that is being committed is not stored yet"

    on(database, main, chunks_at_once=2)
    assert len(graph(database)) == 9


def test_the_same_texts_are_embedded_once_at_a_time() -> None:
    """Seen red: without the lock the second is refused as the same step twice."""
    embed, seen = fakes.FakeEmbed(), set[str]()

    class Once:
        async def astep(self, name: str, fn: Callable[..., Awaitable[Any]], *args: Any) -> Any:
            assert name not in seen
            seen.add(name)
            await asyncio.sleep(0)
            return await fn(*args)

    async def main() -> None:
        stored = StoredEmbed(Once(), embed)  # type: ignore[arg-type]
        one, other = await asyncio.gather(stored.embed(["a", "b"]), stored.embed(["a", "b"]))
        assert one == other and embed.texts == {"a": 1, "b": 1}

    asyncio.run(main())


@pytest.mark.parametrize("free", [False, True])
def test_vectors_that_cost_nothing_are_no_steps(database: str, free: bool) -> None:
    """Seen red: with `free` ignored."""

    async def main(bench: fakes.Bench) -> None:
        bench.embed.free = free  # type: ignore[attr-defined]
        await bench.documents.accept(new())
        await adrain(bench.work)

    on(database, main)
    assert graph(database)
    assert ask(database, "select count(*) > 0 from lanework.steps where starts_with(key, 'embed:')") is not free


def test_ontologies(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        await bench.ontologies.create("manual", "of it", by="ada")
        await bench.documents.accept(new())
        await adrain(bench.work)
        frozen = await bench.ontologies.change("manual", state="frozen", by="ada")
        assert (frozen.state, frozen.documents, frozen.epoch) == ("frozen", 1, 2)
        with pytest.raises(OntologyFrozen):
            await bench.documents.accept(new("More."))
        assert await bench.ontologies.delete("manual", by="ada") == 1
        assert await bench.ontologies.find() == [] and await bench.documents.find() == []

    on(database, main)
    assert graph(database) == []
    acts = ask(database, "select array_agg(act order by id) from lanework.audit_log")
    assert acts == ["ontology.create", "ontology.set", "ontology.set", "document.delete", "ontology.delete"]


@pytest.mark.parametrize(
    ("more", "said", "status"),
    [
        ({"text": "x" * 1_000_001}, "1,000,001 bytes", 413),
        ({"key": "a\0b"}, "key", 422),
        ({"ontology": "a/b"}, "ontology", 422),
        ({"ontology": " a"}, "ontology", 422),
        ({"text": "", "url": "file:///etc/passwd"}, "only http and https", 422),
    ],
)
def test_what_cannot_be_accepted_is_said(database: str, more: dict[str, Any], said: str, status: int) -> None:
    async def main(bench: fakes.Bench) -> None:
        with pytest.raises(Exception, match=said) as caught:
            await bench.documents.accept(new(**more))
        assert getattr(caught.value, "http_status", 0) == status

    on(database, main)
    assert ask(database, "select count(*) from kg.documents") == 0


def test_names_are_never_paths(database: str) -> None:
    async def main(bench: fakes.Bench) -> None:
        for name, shown in [
            ("../../etc/passwd", "passwd"),
            ("..\\a.txt", "a.txt"),
            ("..", "document"),
            ("a\0b/", "ab"),
            ("", "document"),
        ]:
            taken = await bench.documents.accept(new(f"text {name!r}", name=name))
            assert taken.document.name == shown

    on(database, main)
    assert InvalidDocument.http_status == 422


class ShyEmbed(fakes.FakeEmbed):
    """How long its vectors are it knows when it has been asked, and not before: a provider whose model nobody knows."""

    asked = False

    @property
    def dimensions(self) -> int:  # type: ignore[override]
        if not self.asked:
            raise ModelAway("it has not answered yet")
        return 8

    async def load(self) -> None:
        self.asked = True


def test_a_process_that_has_asked_nothing_yet_runs_and_deletes_documents(database: str) -> None:
    """A child process that runs a suspect, a worker that has started while the provider was away, an HTTP process."""

    async def main(bench: fakes.Bench) -> None:
        id = (await bench.documents.accept(new())).document.id
        await adrain(bench.work)
        done = await bench.documents.show(id)
        assert (done.processing_status, (await bench.work.aget(done.job_id or 0)).tries_used) == ("completed", 0)
        embed.asked = False
        await bench.documents.delete(id, by="ada")
        assert await bench.documents.find() == []

    embed = ShyEmbed()
    on(database, main, embed=embed)
