"""A database of a version that had sketches of another form goes on working, and ends as if it had never had them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kg._store import graph as store
from kg._store.graph import arun
from kg._store.schema import FOLDER
from kg.graph import sketching
from kg.graph.keys import keys, probes
from kg.graph.likeness import Named, form
from kg.graph.settle import Change, settle
from kg.graph.sketching import resketch
from tests.kg.graphs import Body, Conn, Document, Library, dump, extraction

#: As `0003_graph.sql` had it, with what stood there for each name.
_BEFORE = (
    "alter table kg.marks drop column corners, add column bands int[] not null default '{1,2,3}'",
    "create index on kg.marks using gin (bands) with (fastupdate = off)",
)
#: Names that meet by their vectors alone.
PAIRS = (("Yengibarian", "Yengibaryan"), ("Kowalewski", "Kovalewsky"), ("Tschaikowsky", "Chaikovsky"), ("Muhammedov", "Mukhamedov"))
SAID = "a boxer of the fifties who came from a town in the mountains"


def _document(name: str, *chunks: tuple[str, ...], said: str = SAID) -> Document:
    return Document(
        name, tuple(extraction([(label, "", said, ()) for label in labels], [(0, 1, "uses", 0.5)]) for labels in chunks)
    )


OLD = _document("old", *((*pair, f"Thing {at}") for at, pair in enumerate(PAIRS)))
NEW = _document("new", *((one.replace("v", "w"), one, "Geneva") for one, _ in PAIRS))


async def _fill(here: Library, document: Document) -> None:
    for at in range(len(document.chunks)):
        await here.store(document, at)


async def _upgrade(conn: Conn) -> None:
    (file,) = (one for one in FOLDER.iterdir() if one.name == "0010_large.sql")
    for statement in (*_BEFORE, file.read_text()):
        await conn.execute(statement.encode())


async def _left(conn: Conn) -> int:
    row = await (await conn.execute("select count(*) from kg.marks where corners is null")).fetchone()
    assert row is not None
    return int(row[0])


def test_the_pairs_of_these_tests_meet_by_their_vectors_alone() -> None:
    for pair in PAIRS:
        one, other = (Named(form(label), label) for label in pair)
        assert not {*probes(one)} & {*keys(other)}


def test_after_an_upgrade_the_graph_is_the_one_of_a_new_database(
    graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(conn: Conn, here: Library, fresh: Library) -> None:
        await _fill(here, OLD)
        likes = (await dump(conn, here.id))["likes"]
        assert len(likes) >= len(PAIRS)
        await _upgrade(conn)
        old = await _left(conn)
        monkeypatch.setattr(sketching, "AT_ONCE", 3)
        for at in range(2):  # others write meanwhile, of names that are done and of names that are not
            await here.store(NEW, at)
            assert await resketch(here.work, 1) == 3
            assert {*likes} <= {*(await dump(conn, here.id))["likes"]}  # nobody is taken apart for not being done
        assert 0 < await _left(conn) < old
        await _fill(here, NEW)
        await resketch(here.work, 1000)
        assert (await _left(conn), await resketch(here.work, 1000)) == (0, 0)
        await _fill(fresh, NEW)
        await _fill(fresh, OLD)
        mine, his = await dump(conn, here.id), await dump(conn, fresh.id)
        for part in mine:
            assert mine[part] == his[part], part

    graphs(body)


async def _epoch(conn: Conn, here: Library) -> Any:
    return await (await conn.execute("select epoch from kg.ontologies where id = %s", [here.id])).fetchone()


async def _like(conn: Conn, here: Library, one: str, other: str) -> None:
    """As an old rule might have seen it."""
    asked = "select id from kg.names where ontology_id = %s and label = any (%s) order by id"
    ids = [row[0] for row in await (await conn.execute(asked, [here.id, [one, other]])).fetchall()]
    async with conn.transaction():
        await arun(conn, store.lock_ontology(here.id))
        await conn.execute(
            "insert into kg.likes (ontology_id, one, other, outcome, score) values (%s, %s, %s, 'same', 1)", [here.id, *ids]
        )
        await settle(conn, Change(here.id, here.space, 1, {}, reseat={*ids}))


def test_names_that_are_alike_as_before_stay_as_they_are(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        await _fill(here, OLD)
        before = await dump(conn, here.id), await _epoch(conn, here)
        await _upgrade(conn)
        assert await resketch(here.work, 1000) > 0
        assert (await dump(conn, here.id), await _epoch(conn, here)) == before

    graphs(body)


def test_names_that_are_alike_by_one_of_the_rules_alone_are_placed_anew(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, fresh: Library) -> None:
        await _fill(here, OLD)
        await conn.execute("delete from kg.likes where ontology_id = %s", [here.id])  # the old one found none of the pairs
        await _like(conn, here, "Muhammedov", "Kowalewski")  # but this
        held = "select count(distinct concept_id) from kg.names where ontology_id = %s and label in ('Muhammedov', 'Kowalewski')"
        assert await (await conn.execute(held, [here.id])).fetchone() == (1,)
        await _upgrade(conn)
        epoch = await _epoch(conn, here)
        await resketch(here.work, 1000)
        assert await (await conn.execute(held, [here.id])).fetchone() == (2,)
        assert await _epoch(conn, here) != epoch  # who keeps a copy of the graph sees that it has changed
        await _fill(fresh, OLD)
        assert await dump(conn, here.id) == await dump(conn, fresh.id)

    graphs(body)


def test_a_name_that_changes_between_look_and_lock_is_not_done_with_its_old_vector(
    graphs: Callable[[Body], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(conn: Conn, here: Library, fresh: Library) -> None:
        await _fill(here, OLD)
        await _upgrade(conn)
        real, other = sketching._again, _document("other", *PAIRS, said="a painter")

        async def later(found: Any, tx: Any) -> None:
            monkeypatch.undo()
            await _fill(here, other)
            await here.remove(OLD)  # some of the names that were just read have another vector now, others are gone
            await real(found, tx)

        monkeypatch.setattr(sketching, "_again", later)
        await resketch(here.work, 1000)
        await _fill(fresh, other)
        assert await dump(conn, here.id) == await dump(conn, fresh.id)

    graphs(body)


def test_vectors_are_not_asked_for_again(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, _: Library) -> None:
        await _fill(here, OLD)
        await _upgrade(conn)
        here.embed.asked.clear()
        await resketch(here.work, 1000)
        assert not here.embed.asked

    graphs(body)


def test_a_document_can_go_before_its_names_are_done(graphs: Callable[[Body], None]) -> None:
    async def body(conn: Conn, here: Library, fresh: Library) -> None:
        await _fill(here, OLD)
        await _fill(here, NEW)
        await _upgrade(conn)
        await here.remove(OLD)
        await resketch(here.work, 1000)
        await _fill(fresh, NEW)
        assert await dump(conn, here.id) == await dump(conn, fresh.id)

    graphs(body)
