"""An edit: readers see the version before until the new one is done, and what they see fits together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from kg.documents.document import Options
from kg.graph.growth import Growth
from lanework import Retryable
from lanework.testing import adrain
from tests.kg.fakes import TEXT, Bench, ask, graph, new, on

#: The middle is new; the end is as it was, at another place.
EDITED = TEXT.replace("Workers take Jobs.", "Nobody takes many more Jobs.")


def words(database: str) -> list[str]:
    return [word for word, _ in graph(database)]


def fits(database: str) -> list[str]:
    """The passages whose place in the document's text is theirs."""
    query = """
        select p.text from kg.passages p join kg.sources s on s.id = p.source_id join kg.documents d on d.id = s.document_id
        join kg.blobs b on b.hash = d.text_hash
        where substr(convert_from(b.data, 'utf8'), p.start + 1, p.finish - p.start) = p.text order by p.start"""
    with psycopg.connect(database) as conn:
        return [text for (text,) in conn.execute(query.encode()).fetchall()]


@contextmanager
def held(bench: Bench, word: str) -> Iterator[asyncio.Event]:
    """Reading a chunk with this word waits."""
    bench.extractor.gates[word], bench.extractor.reached[word] = asyncio.Event(), asyncio.Event()
    yield bench.extractor.reached[word]
    bench.extractor.gates[word].set()


async def first(bench: Bench, **more: Any) -> int:
    id = (await bench.documents.accept(new(key="k", **more))).document.id
    await adrain(bench.work)
    return id


def test_the_old_is_seen_until_the_new_is_done(database: str) -> None:
    async def main(bench: Bench) -> None:
        id = await first(bench)
        with held(bench, "Nobody") as reached:
            job = (await bench.documents.accept(new(EDITED, key="k"))).document.job_id or 0
            assert await bench.documents.text(id) == TEXT and len(fits(database)) == 3
            async with bench.work.worker():
                await reached.wait()
                assert words(database) == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"]
                shown = await bench.documents.show(id)
                assert (shown.processing_status, shown.title, shown.chunks_done) == ("processing", "Lanes have Slots.", 2)
                assert await bench.documents.text(id) == TEXT and len(fits(database)) == 3
                bench.extractor.gates["Nobody"].set()
                await bench.work._await(job, 20)
        assert await bench.documents.text(id) == EDITED

    on(database, main)
    assert words(database) == ["Jobs", "Lanes", "Leaders", "Nobody", "Slots"]
    assert fits(database) == ["Lanes have Slots.\n\n", "Nobody takes many more Jobs.\n\n", "Leaders sweep."]


@pytest.mark.parametrize("what", ["a provider that is away", "bytes that cannot be read"])
def test_an_edit_that_fails_leaves_what_was_there(database: str, what: str) -> None:
    async def main(bench: Bench) -> None:
        id = await first(bench)
        bench.extractor.fails[""] = Retryable("wrong key", error_class="permanent")
        await bench.documents.accept(new("Quite Other." if "provider" in what else "unreadable", key="k"))
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "failed"
        assert await bench.documents.text(id) == TEXT and len(fits(database)) == 3
        assert words(database) == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"]
        bench.extractor.fails.clear()
        await bench.documents.accept(new("Quite Other.", key="k", force=True))
        await adrain(bench.work)

    on(database, main)
    assert words(database) == ["Other", "Quite"] and fits(database) == ["Quite Other."]


def test_a_partial_edit_has_replaced_the_old(database: str) -> None:
    """The text is the new one: what stood in the old alone is gone, though not all of the new could be read."""

    async def main(bench: Bench) -> None:
        id = await first(bench)
        bench.extractor.fails["Nobody"] = ValueError("no JSON in it")
        await bench.documents.accept(new(EDITED, key="k"))
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "partial"
        assert words(database) == ["Lanes", "Leaders", "Slots"] and len(fits(database)) == 2
        bench.extractor.fails.clear()
        await bench.documents.retry(id, by="ada")
        await adrain(bench.work)
        assert (await bench.documents.show(id)).processing_status == "completed"
        assert set(bench.extractor.calls.values()) == {1, 2}

    on(database, main)
    assert len(fits(database)) == 3


def test_a_version_that_was_stopped_leaves_nothing_behind(database: str) -> None:
    """The second stores a chunk and is cancelled, the third is the first again."""

    async def main(bench: Bench) -> None:
        id = await first(bench)
        with held(bench, "Nobody") as reached:
            text = EDITED.replace("Leaders sweep", "Editors write")
            job = (await bench.documents.accept(new(text, key="k"))).document.job_id or 0
            async with bench.work.worker():
                await reached.wait()
                while "Editors" not in words(database):
                    await asyncio.sleep(0.01)
                await bench.work.acancel(job, by="ada")
                assert (await bench.work._await(job, 20)).status == "cancelled"
        assert (await bench.documents.show(id)).processing_status == "cancelled"
        assert await bench.documents.text(id) == TEXT
        assert {"Workers", "Leaders"} <= set(words(database))
        paid = dict(bench.extractor.calls)
        await bench.documents.accept(new(TEXT, key="k"))
        await adrain(bench.work)
        assert bench.extractor.calls == paid

    on(database, main)
    assert words(database) == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"] and len(fits(database)) == 3


def test_what_is_read_again_is_replaced_chunk_by_chunk(database: str) -> None:
    """`force`: a chunk has what it said before, or what it says now, and never nothing."""

    async def main(bench: Bench) -> None:
        await first(bench)
        with held(bench, "Leaders") as reached:
            job = (await bench.documents.accept(new(key="k", force=True))).document.job_id or 0
            async with bench.work.worker():
                await reached.wait()
                assert len(words(database)) == 5
                bench.extractor.gates["Leaders"].set()
                await bench.work._await(job, 20)

    on(database, main)
    assert words(database) == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"] and len(fits(database)) == 3
    assert ask(database, "select array_agg(version) from kg.sources") == [2, 2, 2]


def test_items_of_a_collection_move_with_their_text(database: str) -> None:
    async def main(bench: Bench) -> None:
        options = Options(graph=False)
        await first(bench, options=options)
        await bench.documents.accept(new(EDITED, key="k", options=options))
        await adrain(bench.work)

    on(database, main)
    places = "select array_agg(array[(meta->>'start')::int, (meta->>'finish')::int] order by meta->>'start') from kg.items"
    assert ask(database, places) == [[0, 19], [19, 49], [49, 63]]


def test_in_the_graph_itself(database: str) -> None:
    """With the real one: an edit, everything again, without a graph and with one, and the names are those of the text."""

    def names() -> Any:
        living = "exists (select from kg.names n where n.concept_id = c.id)"
        return ask(database, f"select array_agg(label order by label) from kg.concepts c where {living}")

    async def main(bench: Bench) -> None:
        id = await first(bench)
        assert names() == ["Jobs", "Lanes", "Leaders", "Slots", "Workers"]
        await bench.documents.accept(new(EDITED, key="k"))
        await adrain(bench.work)
        for more in ({"force": True}, {"force": True, "options": Options(graph=False)}, {"force": True}):
            await bench.documents.accept(new(EDITED, key="k", **more))
            await adrain(bench.work)
            assert (await bench.documents.show(id)).processing_status == "completed"
            wanted = None if "options" in more else ["Jobs", "Lanes", "Leaders", "Nobody", "Slots"]
            assert names() == wanted, more

    on(database, main, grows=Growth)
    places = "select array_agg(quote order by start) from kg.instances where substr(%s, start + 1, finish - start) = quote"
    assert ask(database, places, EDITED) == ["Lanes", "Slots", "Nobody", "Jobs", "Leaders"]
