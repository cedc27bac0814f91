"""Equal contents under several keys: one document is worked, the others wait behind it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from kg.access.reach import Reach
from kg.documents.document import Document
from kg.errors import NotRetryable
from lanework.testing import adrain
from tests.kg.fakes import TEXT, Bench, ask, graph, new, on
from tests.kg.test_arrivals import at

WORDS = ["Jobs", "Lanes", "Leaders", "Slots", "Workers"]


async def put(bench: Bench, text: str, key: str, **more: Any) -> Document:
    return (await bench.documents.accept(new(text, key=key, **more))).document


async def two(bench: Bench) -> tuple[int, int]:
    """`b` was something else, and has the content of `a` now."""
    a = await put(bench, TEXT, "a")
    b = await put(bench, "Old Words.", "b")
    await adrain(bench.work)
    assert not (await bench.documents.accept(new(TEXT, key="b"))).existing
    await adrain(bench.work)
    return a.id, b.id


async def state(bench: Bench, id: int) -> tuple[str, int | None]:
    shown = await bench.documents.show(id)
    return shown.processing_status, shown.duplicate_of


def words(database: str) -> list[str]:
    return [word for word, _ in graph(database)]


def test_an_edit_that_makes_two_equal_is_a_duplicate_and_no_error(database: str) -> None:
    async def main(bench: Bench) -> None:
        a, b = await two(bench)
        shown = await bench.documents.show(b)
        assert (shown.processing_status, shown.duplicate_of, shown.version, shown.chunks, shown.error) == (
            "duplicate",
            a,
            2,
            0,
            None,
        )
        assert (await bench.work.aget(shown.job_id or 0)).result == {"document": b, "version": 2, "duplicate_of": a}
        assert set(bench.extractor.calls.values()) == {1}  # nothing is paid for it
        assert await bench.documents.text(b) == TEXT
        assert [one.id for one in await bench.documents.find(status=["duplicate"])] == [b]
        for more in ({}, {"force": True}):
            again = await bench.documents.accept(new(TEXT, key="b", **more))
            assert again.existing and again.document.id == b
        with pytest.raises(NotRetryable, match="is duplicate"):
            await bench.documents.retry(b, by="ada")

    on(database, main)
    assert words(database) == WORDS


def test_another_edit_is_worked_again(database: str) -> None:
    async def main(bench: Bench) -> None:
        _, b = await two(bench)
        await bench.documents.accept(new("New Words.", key="b"))
        await adrain(bench.work)
        assert await state(bench, b) == ("completed", None)

    on(database, main)
    assert words(database) == sorted([*WORDS, "New", "Words"])


@pytest.mark.parametrize("how", ["deleted", "edited", "fetched"])
def test_when_the_other_goes_the_first_duplicate_has_the_content(database: str, how: str) -> None:
    async def main(bench: Bench) -> None:
        if how == "fetched":
            bench.web.has("https://example.org/a", TEXT)
            a = (await bench.documents.accept(at("https://example.org/a"))).document.id
        else:
            a = (await put(bench, TEXT, "a")).id
        others = [(await put(bench, f"Old {key}.", key)).id for key in "bc"]
        await adrain(bench.work)
        for key in "bc":
            await put(bench, TEXT, key)
        await adrain(bench.work)
        assert [await state(bench, one) for one in others] == [("duplicate", a)] * 2
        match how:
            case "deleted":
                await bench.documents.delete(a, by="ada")
            case "edited":
                await put(bench, "Quite Other.", "a")
            case "fetched":
                bench.web.has("https://example.org/a", "Quite Other.")
                await bench.documents.accept(at("https://example.org/a"))
        await adrain(bench.work)
        assert [await state(bench, one) for one in others] == [("completed", None), ("duplicate", others[0])]
        assert (await bench.documents.show(others[0])).chunks_done == 3
        await bench.documents.delete(others[0], by="ada")
        await adrain(bench.work)
        assert await state(bench, others[1]) == ("completed", None)

    on(database, main)
    assert words(database) == sorted(WORDS + ([] if how == "deleted" else ["Other", "Quite"]))


def test_a_duplicate_that_goes_leaves_the_other_alone(database: str) -> None:
    async def main(bench: Bench) -> None:
        a, b = await two(bench)
        await bench.documents.delete(b, by="ada")
        assert await state(bench, a) == ("completed", None) and await bench.documents.text(a) == TEXT

    on(database, main)
    assert words(database) == WORDS


def test_an_address_with_known_content_is_a_duplicate(database: str) -> None:
    async def main(bench: Bench) -> None:
        a = await put(bench, TEXT, "a")
        await adrain(bench.work)
        bench.web.has("https://example.org/a", TEXT)
        taken = await bench.documents.accept(at("https://example.org/a"))
        await adrain(bench.work)
        assert await state(bench, taken.document.id) == ("duplicate", a.id)
        assert set(bench.extractor.calls.values()) == {1}

    on(database, main)
    assert words(database) == WORDS


def test_ten_addresses_with_one_content_at_once_are_read_once(database: str) -> None:
    async def main(bench: Bench) -> None:
        for n in range(10):
            bench.web.has(f"https://example.org/{n}", TEXT)
        bench.web.gate = asyncio.Event()
        ids = [(await bench.documents.accept(at(f"https://example.org/{n}"))).document.id for n in range(10)]
        async with bench.work.worker():
            await bench.web.reached.wait()
            bench.web.gate.set()
            for id in ids:
                await bench.work._await((await bench.documents.show(id)).job_id or 0, 60)
        found = [await state(bench, id) for id in ids]
        [worked] = [id for id, one in zip(ids, found, strict=True) if one == ("completed", None)]
        assert Counter(found) == {("completed", None): 1, ("duplicate", worked): 9}
        assert set(bench.extractor.calls.values()) == {1}

    on(database, main)
    assert words(database) == WORDS


def test_becoming_a_duplicate_of_what_goes_in_this_moment(database: str) -> None:
    """Whoever comes first: in the end the content is worked once, and a duplicate is one of that document."""

    async def main(bench: Bench) -> None:
        groups = []
        for n in range(4):
            text = f"{TEXT} {n}"
            a = (await put(bench, text, f"a{n}")).id
            others = [(await put(bench, f"Old {n} {key}.", f"{key}{n}")).id for key in "bc"]
            if n < 3:  # an heir is there already
                await put(bench, text, f"b{n}")
            goes = put(bench, f"Other {n}.", f"a{n}") if n % 2 else bench.documents.delete(a, by="ada")
            await asyncio.gather(put(bench, text, f"b{n}"), goes, put(bench, text, f"c{n}"))
            groups.append(others)
        await adrain(bench.work)
        for others in groups:
            found = {id: await state(bench, id) for id in others}
            [worked] = [id for id, one in found.items() if one == ("completed", None)]
            assert sorted(found.values(), key=str) == [("completed", None), ("duplicate", worked)]

    on(database, main)
    assert words(database).count("Lanes") == 4


def test_in_a_frozen_ontology_nobody_inherits_by_himself(database: str) -> None:
    async def main(bench: Bench) -> None:
        a, b = await two(bench)
        await bench.ontologies.change("manual", state="frozen", by="ada")
        await bench.documents.delete(a, by="ada")
        shown = await bench.documents.show(b)
        assert (shown.processing_status, shown.duplicate_of) == ("cancelled", None) and "frozen" in (shown.error or "")
        await bench.ontologies.change("manual", state="active", by="ada")
        await bench.documents.retry(b, by="ada")
        await adrain(bench.work)
        assert await state(bench, b) == ("completed", None)
        assert await bench.ontologies.delete("manual", by="ada") == 1

    on(database, main)
    assert words(database) == []


def test_an_ontology_with_duplicates_is_deleted(database: str) -> None:
    async def main(bench: Bench) -> None:
        await two(bench)
        assert await bench.ontologies.delete("manual", by="ada") == 2
        assert not [one for one in await bench.work.alist(type="ingestion") if one.status in ("pending", "approved", "blocked")]

    on(database, main)
    assert words(database) == [] and ask(database, "select count(*) from kg.blobs where data = %s", TEXT.encode()) == 0


def test_whom_it_equals_is_told_to_those_who_may_see_that_one(database: str) -> None:
    async def main(bench: Bench) -> None:
        b = await put(bench, "Mine.", "b", owner="bob")  # he makes the ontology
        a = await put(bench, TEXT, "a")
        taken = await bench.documents.accept(new(TEXT, key="b", owner="bob"), Reach(owner="bob"))
        await adrain(bench.work)
        assert taken.document.id == b.id
        mine = await bench.documents.show(b.id, Reach(owner="bob"))
        assert (mine.processing_status, mine.duplicate_of) == ("duplicate", None)
        assert (await bench.documents.show(b.id, Reach(ontologies=frozenset({"manual"})))).duplicate_of == a.id

    on(database, main)
